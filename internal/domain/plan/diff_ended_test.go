package plan

import (
	"strings"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// TestInstanceThatReportedItsExit checks what happens to an instance whose worker has reported its
// exit although its process runs: it is stopped after a while and a new observation, unless a
// terminal is attached, a question is open or the agent was active after the report. No other agent is stopped.
func TestInstanceThatReportedItsExit(t *testing.T) {
	end := &runtime.End{At: noon.Add(-time.Minute), Exit: &runtime.Exit{Code: 3}}
	at := func(state runtime.Activity, since time.Time) func(o *Observed) {
		return func(o *Observed) { o.Activity = session.Activity{State: state, Since: since} }
	}
	for name, row := range map[string]struct {
		change func(o *Observed)
		want   Verb
	}{
		"its process runs":        {func(*Observed) {}, VerbStop},
		"just now":                {func(o *Observed) { o.Ended = &runtime.End{At: noon.Add(-time.Second)} }, VerbWait},
		"attached":                {func(o *Observed) { o.Observation.Attached = 1 }, VerbWait},
		"busy since":              {at(runtime.ActivityBusy, noon), VerbWait},
		"busy before":             {at(runtime.ActivityBusy, noon.Add(-time.Hour)), VerbStop},
		"drawn idle":              {at(runtime.ActivityIdle, noon), VerbStop},
		"a question":              {func(o *Observed) { o.Pending = true }, VerbWait},
		"stopped a moment ago":    {func(o *Observed) { o.StopAt = noon.Add(time.Second) }, VerbWait},
		"unknown":                 {func(o *Observed) { o.UnknownReason = "no answer" }, VerbNone},
		"not taken over yet":      {func(o *Observed) { o.Managed = false }, VerbAdopt},
		"it has not said so":      {func(o *Observed) { o.Ended = nil }, VerbNone},
		"a restart was requested": {func(o *Observed) { o.Order = OrderRestart }, VerbRestart},
	} {
		t.Run(name, func(t *testing.T) {
			s := sessionOf("a")
			o := healthy(s)
			o.Ended = end
			row.change(&o)
			a := one(t, s, o, Policy{})
			if a.Verb != row.want {
				t.Errorf("decided %s: %s; want %s", a.Verb, a.Reason, row.want)
			}
			if why := map[string]string{"busy since": "the agent was active after", "a question": "while a question is open"}[name]; !strings.Contains(a.Reason, why) {
				t.Errorf("the reason is %q, want %q", a.Reason, why)
			}
			if a.Verb == VerbStop && (!a.Unrequested || !a.SelfEnded || !strings.Contains(a.Reason, "its worker reports that it exited with code 3")) {
				t.Errorf("the stop is %+v", a)
			}
		})
	}
}
