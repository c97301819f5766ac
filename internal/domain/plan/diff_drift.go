package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/runtime"
)

// running returns the action for a session that should run and does.
func (d *planner) running(a Action, s *Session, o *Observed) Action {
	return d.stall(d.runningWithoutStall(a, s, o), s, o)
}

// runningWithoutStall returns the action for a running session, without the check for a stall.
func (d *planner) runningWithoutStall(a Action, s *Session, o *Observed) Action {
	a.State = client.StateRunning
	switch {
	case o.StartInterrupted && o.Order == OrderNone:
		return d.interruptedStart(a, s, o)
	case !o.Managed:
		return a.with(VerbAdopt, client.StateRunning, "it runs already")
	case o.Order == OrderRestart:
		return a.with(VerbRestart, client.StateStopping, "a restart was requested")
	case o.IsDraining():
		return d.drained(a, o)
	case o.Ended != nil:
		return d.selfEnded(a, o)
	case s.Config.Lifecycle == runtime.LifecycleOneShot:
		return a.with(VerbNone, client.StateRunning, "it is a one-shot agent that still runs")
	}
	if !o.Renew.IsZero() {
		return d.restartOnRequest(a, o)
	}
	a = d.drift(a, s, o)
	if a.Drifted {
		return a
	}
	return d.checkIdleAndAge(a, s, o)
}

// drift returns the action for a running session whose configuration may have changed since its
// start: none if it has not, a run of the live commands if only those changed, otherwise a relaunch
// or restart.
func (d *planner) drift(a Action, s *Session, o *Observed) Action {
	if !runtime.FingerprintCurrent(o.Stored.Core) || !runtime.FingerprintCurrent(o.Stored.Live) {
		a.Rebaseline = true
		return a.with(VerbNone, client.StateRunning, "gc cannot compare the configuration that it was started with")
	}
	core, live := o.Stored.Core != s.Core, o.Stored.Live != s.Live
	if !core && !live {
		return a.with(VerbNone, client.StateRunning, client.RunsAsConfigured)
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

// deferred returns a, a restart or relaunch for a changed configuration, or a wait if it would
// interrupt work now. Without other work it waits until the agent has printed nothing for
// policy.Quiet, but not longer than policy.DriftWait.
func (d *planner) deferred(a Action, o *Observed) Action {
	if wait, waits := d.postponed(a, o); waits {
		return wait
	}
	if d.now.Before(o.StopAt) {
		return a.until(o.StopAt, client.StateRunning, a.Reason+"; the last attempt failed: "+o.Fault)
	}
	var limit time.Time // end of the wait for silence; zero: no limit
	if d.policy.DriftWait > 0 && !o.DriftedAt.IsZero() {
		limit = latest(o.DriftedAt.Add(d.policy.DriftWait), d.policy.graceEnd())
	}
	if quiet := d.quietAt(o); !o.Apply && !quiet.IsZero() && (limit.IsZero() || d.now.Before(limit)) {
		return a.until(earliest(quiet, limit), client.StateRunning, a.Reason+"; deferred until the agent is quiet")
	}
	a.Unrequested = !o.Apply
	return a
}

// driftedFields returns the sorted names of the configuration fields whose stored hash differs from
// the current hash. It returns nil if one of the maps is nil, because the difference is then unknown.
func driftedFields(stored, current map[string]string) []string {
	if stored == nil || current == nil {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(current)) {
		if stored[name] != current[name] {
			out = append(out, name)
		}
	}
	for name := range stored {
		if _, ok := current[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
