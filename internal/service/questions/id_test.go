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
	session.PendingStore

	t       *testing.T
	service func() *Service
}

func (s *listingStore) SavePending(ctx context.Context, p session.Pending) error {
	for _, shown := range *s.service().published.Load() {
		if shown.ID == "" {
			s.t.Errorf("while %s (%s) is saved, a question without an id is listed", p.ID, p.State)
		}
	}
	return s.PendingStore.SavePending(ctx, p)
}

// TestEveryListedQuestionHasAnID replaces a question by another one. A question without an id is never
// listed, because it cannot be answered.
func TestEveryListedQuestionHasAnID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.opts.Store = &listingStore{w.Store, t, func() *Service { return w.questions }}
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
