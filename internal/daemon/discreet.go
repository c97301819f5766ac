package daemon

import (
	"context"
	"slices"

	"gascity/client"
	"gascity/internal/event"
	prompts "gascity/internal/prompt"
	"gascity/internal/redact"
	"gascity/internal/session"
	"gascity/internal/store"
)

// discreetStore is the city's store without the values of credentials: agents
// print them, and what they print is kept in records, events and questions. What
// people and agents write themselves stays as it is: the content of a prompt,
// the condition and the text of a wait.
type discreetStore struct {
	*store.DB

	secrets *redact.Redactor
}

var (
	_ session.Store        = discreetStore{}
	_ session.HistoryStore = discreetStore{}
	_ session.PendingStore = discreetStore{}
	_ session.WaitStore    = discreetStore{}
	_ prompts.Store        = discreetStore{}
	_ event.Log            = discreetStore{}
)

// Save keeps the contract of session.Store.
func (s discreetStore) Save(ctx context.Context, r session.Record) error {
	for _, field := range []*string{&r.Screen, &r.Fault, &r.Warning, &r.Hold.Reason, &r.Drain.Reason, &r.Limited.Detail} {
		*field = s.secrets.Text(*field)
	}
	if r.Former != nil {
		former := *r.Former
		former.Reason, former.Screen = s.secrets.Text(former.Reason), s.secrets.Text(former.Screen)
		r.Former = &former
	}
	return s.DB.Save(ctx, r)
}

// SaveIncarnation keeps the contract of session.HistoryStore.
func (s discreetStore) SaveIncarnation(ctx context.Context, i session.Incarnation) error {
	i.Reason = s.secrets.Text(i.Reason)
	return s.DB.SaveIncarnation(ctx, i)
}

// SavePending keeps the contract of session.PendingStore.
func (s discreetStore) SavePending(ctx context.Context, p session.Pending) error {
	return s.DB.SavePending(ctx, redact.Value(s.secrets, p))
}

// SaveWait keeps the contract of session.WaitStore.
func (s discreetStore) SaveWait(ctx context.Context, w session.Wait) error {
	w.Reason = s.secrets.Text(w.Reason)
	return s.DB.SaveWait(ctx, w)
}

// AddReceipt keeps the contract of prompt.Store.
func (s discreetStore) AddReceipt(ctx context.Context, r prompts.Receipt) (kept prompts.Receipt, known bool, err error) {
	return s.DB.AddReceipt(ctx, s.receipt(r))
}

// SaveReceipt keeps the contract of prompt.Store.
func (s discreetStore) SaveReceipt(ctx context.Context, r prompts.Receipt) error {
	return s.DB.SaveReceipt(ctx, s.receipt(r))
}

func (s discreetStore) receipt(r prompts.Receipt) prompts.Receipt {
	r.Head, r.Reason, r.Evidence = s.secrets.Text(r.Head), s.secrets.Text(r.Reason), s.secrets.Text(r.Evidence)
	r.Steps = slices.Clone(r.Steps)
	for i := range r.Steps {
		r.Steps[i].Detail = s.secrets.Text(r.Steps[i].Detail)
	}
	return r
}

// Append keeps the contract of event.Log.
func (s discreetStore) Append(e client.Event) (client.Event, error) {
	e.Text, e.Data = s.secrets.Text(e.Text), s.secrets.Data(e.Data)
	return s.DB.Append(e)
}
