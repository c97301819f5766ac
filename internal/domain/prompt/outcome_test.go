package prompt

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gascity/runtime"
)

// TestSettle checks the new state of a receipt and its reason for each outcome of an attempt.
func TestSettle(t *testing.T) {
	at := time.Unix(1000, 0)
	stale := &runtime.Error{Op: "deliver to", Session: "s", Err: runtime.ErrStaleInstance}
	for _, c := range []struct {
		name    string
		attempt Attempt
		bound   string // the conversation
		want    State
		reason  string
	}{
		{"taken", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "busy"}}, "", Submitted, ""},
		{"nothing known", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeUnconfirmed}}, "", Unconfirmed, "no evidence"},
		{"driver failed", Attempt{Err: errors.New("broken pipe")}, "", Unconfirmed, "broken pipe"},
		{"driver failed, proof", Attempt{Err: errors.New("broken pipe"), Withdrawn: true}, "", Queued, "taken back unsent: broken pipe"},
		{"a person types", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedTyping, Detail: "1s ago"}}, "", Queued, "human_typing: 1s ago"},
		{"blocked", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedInputBlocked, Detail: "[pasted 3]"}}, "", Queued, "input_blocked: [pasted 3]"},
		{"blocked by its own text", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedInputBlocked, Detail: "[pasted 3]"}}, "", Unconfirmed, "input_blocked: [pasted 3]"},
		{"not sent", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Unsent: true, Detail: "no pipe"}}, "", Queued, "not sent: no pipe"},
		{"busy", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy}}, "", Queued, "busy: busy"},
		{"cannot arrive", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "NUL"}}, "", Dead, "refused: NUL"},
		{"no input", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeUnsupported, Detail: "no pipe"}}, "", Dead, "the session accepts no prompts: no pipe"},
		{"gone", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeAbsent}}, "", Dead, reasonEnded},
		{"gone, with a talk", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeAbsent}, Err: stale}, "talk", Queued, "the instance is gone"},
		{"a word of tomorrow", Attempt{Outcome: runtime.Outcome{State: "delivered"}}, "", Unconfirmed, "no evidence"},
	} {
		r := Receipt{State: Injected, Instance: "i1", Conversation: c.bound, Attempts: 3}
		got, err := r.ApplyAttempt(c.attempt, at)
		if err != nil || got.State != c.want || got.Reason != c.reason {
			t.Errorf("%s: settled as %s %q, %v; want %s %q", c.name, got.State, got.Reason, err, c.want, c.reason)
		}
		wait := Backoff(3, 0)
		if c.attempt.Withdrawn {
			wait = sentBackoff
		}
		if got.State == Queued && got.NextAt.Sub(at) != wait {
			t.Errorf("%s: the next attempt is after %s, want %s", c.name, got.NextAt.Sub(at), wait)
		}
	}
}

// TestATextIsSentBackThreeTimes checks that a prompt whose text is removed again, or refused, goes
// back into the queue three times. After that the receipt is dead and has the reason.
func TestATextIsSentBackThreeTimes(t *testing.T) {
	for name, attempt := range map[string]Attempt{
		"removed after the delivery": {Withdrawn: true, Outcome: runtime.Outcome{Detail: "no echo"}},
		"removed by the delivery":    {Outcome: runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: "no echo"}},
	} {
		at := time.Unix(1000, 0)
		r := Receipt{State: Queued}
		var err error
		for n := range MaxSentBack + 1 {
			if r, err = r.Move(Injected, at, Delivering); err == nil {
				r, err = r.ApplyAttempt(attempt, at)
			}
			if want := map[bool]State{true: Queued, false: Dead}[n < MaxSentBack]; err != nil || r.State != want {
				t.Fatalf("%s: after attempt %d the receipt is %s, %v; want %s", name, n+1, r.State, err, want)
			}
		}
		if r.SentBack != MaxSentBack || !strings.Contains(r.Reason, "sent 4 times") || !strings.Contains(r.Reason, "no echo") {
			t.Errorf("%s: it was sent back %d times and ended with %q", name, r.SentBack, r.Reason)
		}
	}
}
