package prompts_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// TestHeldAgentGetsNoPrompts: it gets none while it runs or sleeps, with any priority. When the hold ends
// it gets all of them in order.
func TestHeldAgentGetsNoPrompts(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) { a.promptHold = "budget day is used up" })
		first := r.send("a", "one", func(q *client.NudgeRequest) { q.Successor = true })
		urgent := r.send("a", "two", func(q *client.NudgeRequest) { q.Successor, q.Priority = true, "urgent" })
		servicetest.Advance(time.Hour)
		r.want(first.ID, client.ReceiptQueued)
		if got := r.want(urgent.ID, client.ReceiptQueued); !strings.Contains(got.Reason, "budget day") {
			t.Errorf("it waits because of %q, want the budget", got.Reason)
		}
		queue, err := r.engine.Queue(t.Context(), "a", "")
		if err != nil || len(queue) != 2 {
			t.Fatalf("the queue is %v, %v", queue, err)
		}
		for i, q := range queue {
			if q.Position != i+1 || q.Reason != "budget day is used up" {
				t.Errorf("position %d waits because of %q, want the budget", q.Position, q.Reason)
			}
		}
		a := r.agents["a"]
		r.edit("a", func(a *agent) { a.end(client.StateAsleep) })
		servicetest.Advance(time.Hour)
		if a.woken != 0 || a.interrupted != 0 || len(a.ledger) != 0 {
			t.Errorf("it was woken %d times, interrupted %d times, and took %q", a.woken, a.interrupted, a.ledger)
		}
		r.edit("a", func(a *agent) { a.promptHold = "" })
		servicetest.Advance(time.Minute)
		if got := strings.Join(a.ledger, " "); got != "two one" || a.woken != 1 {
			t.Errorf("after the hold it took %q and was woken %d times, want both prompts and once", got, a.woken)
		}
	}, newAgent("a"))
}

// TestEachPromptHasAReason: the first prompt names what it waits for, the others name their order, and each
// receipt has the reason of the listing.
func TestEachPromptHasAReason(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) {
			a.view.Activity = session.Activity{State: runtime.ActivityBusy, Confidence: session.ConfidenceCertain, Since: time.Now()}
		})
		for _, text := range []string{"one", "two", "three"} {
			r.send("a", text)
		}
		servicetest.Advance(time.Second)
		queue, err := r.engine.Queue(t.Context(), "a", "")
		if err != nil || len(queue) != 3 {
			t.Fatalf("the queue is %v, %v", queue, err)
		}
		for i, want := range []string{"the agent is busy: it waits for the end of the turn", "the prompts before it go first", "the prompts before it go first"} {
			if queue[i].Reason != want {
				t.Errorf("position %d waits because of %q, want %q", i+1, queue[i].Reason, want)
			}
			if got := r.want(queue[i].ID, client.ReceiptQueued); got.Reason != want || got.Position != i+1 {
				t.Errorf("the receipt at position %d waits because of %q, want %q", got.Position, got.Reason, want)
			}
		}
	}, newAgent("a"))
}

// TestAgentWithoutBudgetQueuesPrompts: its prompts wait, while a suspended agent refuses them.
func TestAgentWithoutBudgetQueuesPrompts(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) {
			a.end(client.StateSuspended)
			a.view.Desired, a.view.Hold = "suspended", session.Hold{Kind: session.HoldBudget}
			a.promptHold = "budget day is used up"
		})
		sent := r.send("a", "one")
		synctest.Wait()
		r.want(sent.ID, client.ReceiptQueued)
		r.edit("a", func(a *agent) {
			a.start()
			a.view.Desired, a.view.Hold, a.promptHold = "running", session.Hold{}, ""
		})
		servicetest.Advance(time.Minute)
		if got := r.agents["a"].ledger; len(got) != 1 {
			t.Errorf("it took %q", got)
		}
	}, newAgent("a"))
}
