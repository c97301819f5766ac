package plan

import (
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// TestInterruptedStart checks what happens to a session whose start was interrupted by the end of
// the controller, see the table in docs/explanation/supervision.md.
func TestInterruptedStart(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*Session, *Observed)
		want   Verb
	}{
		"only a process":     {func(s *Session, _ *Observed) { s.Config.Nudge = "" }, VerbAdopt},
		"runs once":          {func(s *Session, _ *Observed) { s.Config.Lifecycle = runtime.LifecycleOneShot }, VerbAdopt},
		"at work":            {func(_ *Session, o *Observed) { o.Activity.State = runtime.ActivityBusy }, VerbAdopt},
		"attached":           {func(_ *Session, o *Observed) { o.Observation.Attached = 1 }, VerbWait},
		"idle, not prompted": {func(_ *Session, o *Observed) { o.Activity.State = runtime.ActivityIdle }, VerbStop},
		"unknown":            {func(*Session, *Observed) {}, VerbStop},
		"asks":               {func(_ *Session, o *Observed) { o.Activity.State, o.Pending = runtime.ActivityWaiting, true }, VerbStop},
		"ready, live only": {func(s *Session, o *Observed) {
			s.Config.Nudge, s.Config.SessionLive, o.Activity.State = "", []string{"x"}, runtime.ActivityReady
		}, VerbAdopt},
		"may become ready": {func(s *Session, o *Observed) {
			s.Config.Nudge, s.Config.ReadyPromptPrefix, o.StartedAt = "", ">", noon.Add(-30*time.Second)
		}, VerbWait},
		"never became ready": {func(s *Session, o *Observed) {
			s.Config.Nudge, s.Config.ReadyPromptPrefix, o.StartedAt = "", ">", noon.Add(-2*time.Minute)
		}, VerbStop},
		"a restart was requested": {func(_ *Session, o *Observed) { o.Order = OrderRestart }, VerbAdopt}, // and then it is restarted
		"to be ended":             {func(_ *Session, o *Observed) { o.Order = OrderKill }, VerbStop},
		"stopped a moment ago":    {func(_ *Session, o *Observed) { o.StopAt = noon.Add(time.Second) }, VerbWait},
		"outcome unknown":         {func(_ *Session, o *Observed) { o.UnknownReason = "no answer" }, VerbNone},
	} {
		t.Run(name, func(t *testing.T) {
			s := sessionOf("a")
			s.StartTimeout, s.Config.Nudge = time.Minute, "go"
			o := healthy(s)
			o.Managed, o.StartInterrupted, o.Activity = false, true, session.Activity{}
			row.change(&s, &o)
			a := one(t, s, o, Policy{})
			if a.Verb != row.want {
				t.Errorf("decided %s: %s; want %s", a.Verb, a.Reason, row.want)
			}
			if counts := a.StartInterrupted && a.Verb == VerbStop; counts != (a.Verb == VerbStop && o.Order == OrderNone) {
				t.Errorf("it counts as a failure: %v", counts)
			}
		})
	}
}
