package scripts_test

import (
	"errors"
	"testing"

	"gascity/internal/fakeagent/ledger"
	"gascity/runtime"
)

// A question of an agent in a script session is pending, and the agent gets the answer once.
func TestQuestion(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		p := s.driver()
		a := s.launch(p, "a", "")
		a.await(ledger.Ready, 1)
		if q, err := p.Pending("a"); q != nil || err != nil {
			t.Fatalf("Pending at the prompt = %+v, %v", q, err)
		}
		s.do("[[ask:Delete it all?|Yes|No|Later]]", "nudge", "a")
		var q *runtime.PendingInteraction
		until(t, "the question is pending", func() bool {
			var err error
			if q, err = p.Pending("a"); err != nil {
				t.Fatal(err)
			}
			return q != nil && len(q.Options) == 3
		})
		no := runtime.InteractionResponse{RequestID: q.RequestID, Action: runtime.ActionChoose, Text: "Later"}
		if err := p.Respond("a", no); err != nil {
			t.Fatal(err)
		}
		if got := a.await(ledger.Choice, 1); got[0].Choice != "Later" {
			t.Errorf("the agent got the answer %q", got[0].Choice)
		}
		if err := p.Respond("a", no); !errors.Is(err, runtime.ErrInteractionGone) {
			t.Errorf("a second answer = %v, want that the question is gone", err)
		}
	})
}
