package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gascity/client"
	"gascity/runtime"
)

// running decides about a session that is to run and does.
func (d *differ) running(a Action, s *Session, o *Observed) Action {
	a.State = client.StateRunning
	switch {
	case !o.Known:
		return a.with(VerbAdopt, client.StateRunning, "it runs already")
	case o.Order == OrderRestart:
		return a.with(VerbRestart, client.StateStopping, "a restart was asked for")
	case s.Config.Lifecycle == runtime.LifecycleOneShot:
		return a.with(VerbNone, client.StateRunning, "it runs once, to its end")
	}
	return d.drift(a, s, o)
}

// drift decides what a difference between the stored and the present
// fingerprints means.
func (d *differ) drift(a Action, s *Session, o *Observed) Action {
	if !runtime.FingerprintCurrent(o.Stored.Core) || !runtime.FingerprintCurrent(o.Stored.Live) {
		a.Rebaseline = true
		return a.with(VerbNone, client.StateRunning, "what it was started with is not known by the present rules")
	}
	core, live := o.Stored.Core != s.Core, o.Stored.Live != s.Live
	if !core && !live {
		return a.with(VerbNone, client.StateRunning, "it runs as configured")
	}
	a.Drifted = true
	a.Fields = driftedFields(o.Stored.Fields, s.Fields)
	reason := "its configuration changed"
	if len(a.Fields) > 0 {
		reason += ": " + strings.Join(a.Fields, ", ")
	}
	switch {
	case !core:
		return a.with(VerbApplyLive, client.StateRunning, reason)
	case o.CanRelaunch && o.Stored.Launch != "" && o.Stored.Provision == s.Provision:
		a = a.with(VerbRelaunch, client.StateStarting, reason)
	default:
		a = a.with(VerbRestart, client.StateStopping, reason)
	}
	return d.deferred(a, o)
}

// deferred waits for a moment in which the restart for a changed configuration
// interrupts nobody.
func (d *differ) deferred(a Action, o *Observed) Action {
	switch {
	case o.Seen.Attached > 0:
		return a.with(VerbWait, client.StateRunning, a.Reason+"; deferred while a terminal is attached")
	case o.Busy != "":
		return a.with(VerbWait, client.StateRunning, fmt.Sprintf("%s; deferred while the agent is %s", a.Reason, o.Busy))
	case d.now.Before(o.StopAt):
		return a.until(o.StopAt, client.StateRunning, a.Reason+"; the last attempt failed: "+o.Fault)
	}
	last := o.Seen.LastActivity
	if o.Seen.LastInput.After(last) {
		last = o.Seen.LastInput
	}
	patient := d.policy.DriftWait <= 0 || o.DriftedAt.IsZero() || d.now.Before(o.DriftedAt.Add(d.policy.DriftWait))
	if quiet := last.Add(d.policy.Quiet); !last.IsZero() && patient && d.now.Before(quiet) {
		return a.until(quiet, client.StateRunning, a.Reason+"; deferred until the agent is quiet")
	}
	return a
}

// driftedFields returns the names of the fields whose hashes differ, sorted.
// Nothing is known to differ if either side is unknown.
func driftedFields(then, now map[string]string) []string {
	if then == nil || now == nil {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if then[name] != now[name] {
			out = append(out, name)
		}
	}
	for name := range then {
		if _, ok := now[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
