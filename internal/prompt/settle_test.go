package prompt

import (
	"errors"
	"testing"
	"time"

	"gascity/runtime"
)

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
		{"busy", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedBusy}}, "", Queued, "busy: busy"},
		{"cannot arrive", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: "NUL"}}, "", Dead, "refused: NUL"},
		{"no input", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeUnsupported, Detail: "no pipe"}}, "", Dead, "the session takes no prompts: no pipe"},
		{"gone", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeAbsent}}, "", Dead, reasonEnded},
		{"gone, with a talk", Attempt{Outcome: runtime.Outcome{State: runtime.OutcomeAbsent}, Err: stale}, "talk", Queued, "the incarnation is gone"},
		{"a word of tomorrow", Attempt{Outcome: runtime.Outcome{State: "delivered"}}, "", Unconfirmed, "no evidence"},
	} {
		r := Receipt{State: Injected, Instance: "i1", Conversation: c.bound, Attempts: 3}
		got, err := r.Settle(c.attempt, at)
		if err != nil || got.State != c.want || got.Reason != c.reason {
			t.Errorf("%s: settled as %s %q, %v; want %s %q", c.name, got.State, got.Reason, err, c.want, c.reason)
		}
		if got.State == Queued && got.NextAt.Sub(at) != Backoff(3, 0) {
			t.Errorf("%s: the next attempt is after %s, want %s", c.name, got.NextAt.Sub(at), Backoff(3, 0))
		}
	}
}
