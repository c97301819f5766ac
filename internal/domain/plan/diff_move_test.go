package plan

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// TestAgentMovesToAnotherProvider checks when a running agent is stopped after a change of its
// runtime provider: at the end of its turn, and only if sessions can be started at the new
// provider, or because a person requests a stop.
func TestAgentMovesToAnotherProvider(t *testing.T) {
	closed := Policy{Closed: map[string]string{"fake": "there is no such tool"}}
	open := Policy{}
	rows := []struct {
		name   string
		policy Policy
		change func(s *Session, o *Observed)
		verb   Verb
		stays  bool
		words  string // of the reason
	}{
		{"open", open, func(*Session, *Observed) {}, VerbStop, false, "it moves to fake"},
		{"open, busy", open, func(_ *Session, o *Observed) { o.Activity.State = runtime.ActivityBusy }, VerbWait, true, "deferred while the agent is busy"},
		{"open, attached", open, func(_ *Session, o *Observed) { o.Observation.Attached = 1 }, VerbWait, true, "deferred while a terminal"},
		{"open, busy, kill", open, func(_ *Session, o *Observed) { o.Activity.State, o.Order = runtime.ActivityBusy, OrderKill }, VerbStop, false, ""},
		{"open, busy, restart", open, func(_ *Session, o *Observed) { o.Activity.State, o.Order = runtime.ActivityBusy, OrderRestart }, VerbStop, false, "moves"},
		{"open, busy, suspended", open, func(s *Session, o *Observed) { s.Suspended, o.Activity.State = true, runtime.ActivityBusy }, VerbStop, false, ""},
		{"open, not known", open, func(_ *Session, o *Observed) { o.Managed = false }, VerbAdopt, true, ""},
		{"closed", closed, func(*Session, *Observed) {}, VerbNone, true, "the new provider cannot be opened: there is no such tool; it stays at previous"},
		{"closed, not known", closed, func(_ *Session, o *Observed) { o.Managed = false }, VerbAdopt, true, "no such tool"},
		{"closed, cut", closed, func(_ *Session, o *Observed) { o.Managed, o.StartInterrupted = false, true }, VerbAdopt, true, "no such tool"},
		{"closed, drifted", closed, func(_ *Session, o *Observed) { o.Stored.Core = "v1:other" }, VerbNone, true, "no such tool"},
		{"closed, idle", closed, func(s *Session, o *Observed) { s.IdleAfter, o.Activity.Since = 1, noon.Add(-1000) }, VerbNone, true, "no such tool"},
		{"closed, restart", closed, func(_ *Session, o *Observed) { o.Order = OrderRestart }, VerbWait, true, "a restart was requested"},
		{"closed, kill", closed, func(_ *Session, o *Observed) { o.Order = OrderKill }, VerbStop, false, "stop was requested"},
		{"closed, suspended", closed, func(s *Session, _ *Observed) { s.Suspended = true }, VerbStop, false, "suspended"},
		{"closed, held", closed, func(_ *Session, o *Observed) { o.Hold.Kind = session.HoldSuspend }, VerbStop, false, "suspended"},
		{"closed, unknown", closed, func(_ *Session, o *Observed) { o.UnknownReason = "it does not answer" }, VerbNone, false, "it does not answer"},
		{"closed, foreign", closed, func(_ *Session, o *Observed) { o.Owner = OwnerOther }, "", false, ""},
		{"closed, ended", closed, func(_ *Session, o *Observed) { o.Observation.Agent = runtime.Dead }, VerbStop, false, "not configured"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := sessionOf("a")
			o := healthy(s)
			o.Provider = "previous"
			row.change(&s, &o)
			var got Action
			for _, a := range Diff(Desired{City: "town", Sessions: []*Session{&s}}, []Observed{o, stoppedSession(sessionOf("a"))}, noon, row.policy) {
				if a.Provider == "previous" {
					got = a
				} else if a.Verb == VerbStart && o.Owner == OwnerThisCity && o.running() {
					t.Errorf("it is started at the new provider although it runs: %+v", a)
				}
			}
			if got.Verb != row.verb || got.MovePending != row.stays || !strings.Contains(got.Reason, row.words) {
				t.Errorf("%s (%q), stays %v; want %s with %q, %v", got.Verb, got.Reason, got.MovePending, row.verb, row.words, row.stays)
			}
		})
	}
}

// TestAgentsStayIfTheNewProviderIsClosed checks, for random agents whose new runtime provider
// cannot be opened, that gc stops a running one only if a person or the agent requested it.
func TestAgentsStayIfTheNewProviderIsClosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		desired, w := drawSimulation(t)
		policy := drawPolicy(t)
		policy.Stopping, policy.Closed = false, map[string]string{"typo": "there is no such provider"}
		agents := map[string]*Session{}
		for _, s := range desired.Sessions {
			if rapid.Bool().Draw(t, "moves") {
				s.Provider = "typo"
				agents[s.Agent] = s
			}
		}
		for _, a := range Diff(desired, w.observed(), noon, policy) {
			o, s := w[a.Key()], agents[a.Agent]
			if o == nil || s == nil || a.Provider == "typo" || o.Owner != OwnerThisCity || !o.running() || !a.Verb.Ends() {
				continue
			}
			asked := o.Order == OrderKill || s.Suspended || o.effectiveHold().Kind != "" || s.Pool != "" || o.IsDraining()
			if !asked {
				t.Fatalf("%s (%s) of %s, which cannot run where it is configured: %+v", a.Verb, a.Reason, a.Agent, o)
			}
			if a.State == client.StateRunning {
				t.Fatalf("%s, and it is called running", a.Verb)
			}
		}
	})
}
