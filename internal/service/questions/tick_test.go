package questions

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/test/storetest"
)

// A dialog that shows a running time is one question for ten minutes: one ID, one deadline, and no more
// alerts than any other.
func TestQuestionWithARunningTimeIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.opts.Policy = func(string) Policy { return Policy{Mode: Deny, After: time.Minute} }
		a := w.agent("a")
		a.ignores = true
		w.run()
		var first client.Pending
		for i := range 600 {
			q := permission(fmt.Sprint("r", i))
			q.Prompt = fmt.Sprintf("Bash command\n\n rm -rf build\n\nDo you want to proceed? (waiting %s)", time.Duration(i)*time.Second)
			w.raiseQuestion("a", q)
			if i == 0 {
				first = w.only()
			}
			if got := w.only(); got.ID != first.ID || !got.Deadline.Equal(first.Deadline) || got.Prompt != q.Prompt {
				t.Fatalf("after %d s it is %s until %s with %q; it was %s until %s", i, got.ID, got.Deadline, got.Prompt, first.ID, first.Deadline)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if n := w.alerts(); n > 2 || len(a.answers) == 0 || w.Store.Tries() > 40 {
			t.Errorf("10 minutes of one question: %d alerts, %d answers of the policy, %d saves", n, len(a.answers), w.Store.Tries())
		}
		w.Stop()
		w.run()
		if got := w.only(); got.ID != first.ID {
			t.Errorf("after a restart it is %s, and was %s", got.ID, first.ID)
		}
	})
}

// A dialog whose time changes between its reading and the answer is answered.
func TestAnswerToAQuestionWithARunningTime(t *testing.T) {
	for ticks, want := range map[int]bool{1: true, 3: true, 100: false} {
		synctest.Test(t, func(t *testing.T) {
			w := newServiceTest(t)
			a := w.agent("a")
			w.run()
			q := permission("r")
			q.Prompt = "Proceed? (10s)"
			w.raiseQuestion("a", q)
			a.ticks = ticks
			w.readAfterAnswers("a")
			got, err := w.questions.Respond(t.Context(), w.only().ID, client.RespondRequest{Option: "Yes", By: "me"})
			if want != (err == nil && got.State == client.PendingAnswered && len(a.answers) == 1) {
				t.Errorf("after %d ticks the answer is %s, %v; the agent got %v", ticks, got.State, err, a.answers)
			}
		})
	}
}

func TestQuestionsThatDifferOnlyInTime(t *testing.T) {
	ask := func(prompt string) *session.Pending {
		return &session.Pending{Instance: "i", Kind: "permission", Prompt: prompt, Options: []string{"Yes", "No (9s)"}}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"Proceed? (12s)", "Proceed? (13s)", true},
		{"Proceed? (59s)", "Proceed? (1m 0s)", true},
		{"Proceed? (1m59s)", "Proceed? (2m)", true},
		{"auto-deny in 29 seconds", "auto-deny in 1 second", true},
		{"waiting 0:59", "waiting 1:00", true},
		{"1.5s", "1.6s", true},
		{"a long line (9s)", "a long\nline (10s)", true},
		{"rm -rf build1", "rm -rf build2", false},
		{"Delete 3 files?", "Delete 4 files?", false},
		{"Run A? (1s)", "Run B? (1s)", false},
		{"5 miles", "6 miles", false},
		{"the same", "the same", false},
	} {
		if got := differsOnlyInTime(ask(c.a), ask(c.b)); got != c.want {
			t.Errorf("%q and %q are one question: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	other := ask("Proceed? (13s)")
	other.Input = "rm -rf /"
	if differsOnlyInTime(ask("Proceed? (12s)"), other) {
		t.Error("another command is the same question")
	}
	other = ask("Proceed? (13s)")
	other.Options = []string{"Yes", "No (8s)"}
	if !differsOnlyInTime(ask("Proceed? (12s)"), other) {
		t.Error("an option with another time is another question")
	}
}

// Open questions survive a store that fails at the start.
func TestQuestionsSurviveAFailedRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.run()
		w.raiseQuestion("a", permission("r"))
		before := w.only()
		w.Stop()
		w.Store.Set(storetest.Fails)
		w.run()
		time.Sleep(time.Minute)
		w.Store.Set(storetest.Works)
		time.Sleep(5 * time.Minute)
		if got := w.only(); got.ID != before.ID || !got.Deadline.Equal(before.Deadline) || w.alerts() != 1 {
			t.Errorf("it is %s until %s, and was %s until %s; %d alerts", got.ID, got.Deadline, before.ID, before.Deadline, w.alerts())
		}
		w.Stop()
		w.Store.Set(storetest.Fails)
		w.run() // and it exits although no read succeeds
	})
}
