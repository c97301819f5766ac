package questions

import (
	"context"
	"testing"
	"testing/synctest"

	"gascity/client"
	"gascity/internal/domain/session"
)

// listingStore lists the questions whenever one is saved, as a person might at that moment.
type listingStore struct {
	*flakyStore

	t    *testing.T
	desk func() *Service
}

func (s *listingStore) SavePending(ctx context.Context, p session.Pending) error {
	for _, shown := range *s.desk().published.Load() {
		if shown.ID == "" {
			s.t.Errorf("while %s (%s) is saved, a question without an id is listed", p.ID, p.State)
		}
	}
	return s.flakyStore.SavePending(ctx, p)
}

// TestEveryListedQuestionHasAnID replaces a question by another one: at no moment is one
// listed that cannot be answered because it has no id yet.
func TestEveryListedQuestionHasAnID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCity(t)
		w.opts.Store = &listingStore{w.store, t, func() *Service { return w.desk }}
		w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r1"))
		first := w.only()
		next := permission("r2")
		next.Prompt = "Another question?"
		w.raiseQuestion("a", next)
		for _, p := range w.list() {
			if p.ID == "" || (p.State == client.PendingOpen) != (p.ID != first.ID) {
				t.Errorf("the list holds %+v, want the first question ended and the second one open", p)
			}
		}
	})
}
