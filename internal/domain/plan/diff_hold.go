package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// target is the desired state of a session. state and reason describe a session that must not run
// and does not run.
type target struct {
	desired, state, reason string
	woken                  bool // its hold is over
	surplus                bool // a pool member beyond the wanted number
	until                  time.Time
}

// targetCityStops is the target of every session while the city is being stopped.
var targetCityStops = target{desired: client.DesiredStopped, state: client.StateStopped, reason: "the city is being stopped"}

// targetFor returns whether a session should run, and why not. o is its observation; nil if there
// is none.
func (d *planner) targetFor(s *Session, o *Observed) target {
	switch {
	case d.policy.Stopping:
		return targetCityStops
	case s.Suspended:
		return target{desired: client.DesiredSuspended, state: client.StateSuspended, reason: "it is suspended"}
	}
	held, woken := session.Hold{}, false
	if o != nil {
		held = o.effectiveHold()
		woken = held.Kind == session.HoldSleep && d.wakeReason(s, o) != ""
	}
	switch {
	case held.Kind == "" || woken:
	case held.Kind == session.HoldSleep:
		return target{desired: client.DesiredStopped, state: client.StateAsleep, reason: appendReason("it sleeps", held.Reason)}
	case held.Kind == session.HoldBudget:
		return target{desired: client.DesiredSuspended, state: client.StateSuspended, reason: appendReason("it has used up its budget", held.Reason), until: held.Until}
	default: // an unknown kind of hold is treated as suspend
		return target{desired: client.DesiredSuspended, state: client.StateSuspended, reason: appendReason("it is suspended", held.Reason)}
	}
	if p := d.pools[s.Pool]; p != nil && !p.wanted[s.Agent] {
		return target{desired: client.DesiredStopped, state: client.StateStopped, reason: p.reason(), surplus: true, woken: woken}
	}
	return target{desired: client.DesiredRunning, woken: woken}
}

// appendReason returns the text, a colon and the reason; only the text if the reason is empty.
func appendReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// wakeReason returns why a sleeping session must run now, such as a queued prompt; empty if it may
// continue to sleep.
func (d *planner) wakeReason(s *Session, o *Observed) string {
	switch {
	case o.WakeReason != "":
		return o.WakeReason
	case o.Queued == 1 && o.isPrompted():
		return "a prompt waits for it"
	case o.isPrompted():
		return fmt.Sprintf("%d prompts wait for it", o.Queued)
	case o.Order == OrderRestart:
		return "a restart was requested"
	case d.required[s.Agent] != "":
		return d.required[s.Agent] + " depends on it"
	}
	return ""
}

// isPrompted reports whether a queued prompt requires the session to run. A prompt that was
// already queued when the session was put to sleep does not wake it.
func (o *Observed) isPrompted() bool {
	held := o.effectiveHold()
	return o.Queued > 0 && (held.Kind != session.HoldSleep || o.PromptAt.IsZero() || o.PromptAt.After(held.Since))
}

// findRequired records in d.required the agents that other sessions depend on and that must
// therefore be woken before those can start.
func (d *planner) findRequired(sessions []*Session) {
	var needs func(s *Session)
	needs = func(s *Session) {
		for _, name := range s.DependsOn {
			dep := d.agents[name]
			if dep == nil || d.required[name] != "" {
				continue
			}
			d.required[name] = s.Agent
			if d.needsStart(dep) {
				needs(dep)
			}
		}
	}
	for _, s := range sessions {
		if len(s.DependsOn) > 0 && d.needsStart(s) {
			needs(s)
		}
	}
}

// needsStart reports whether a session should run and does not exist.
func (d *planner) needsStart(s *Session) bool {
	o := d.at(s)
	if o == nil || o.exists() || o.unknown() != "" || s.Config.Lifecycle == runtime.LifecycleOneShot && o.finished() {
		return false
	}
	return d.targetFor(s, o).desired == client.DesiredRunning
}

// effectiveHold returns the hold that applies to the session. This is the stored hold, with one
// exception: if the instance that was drained has stopped and no hold is stored yet, it is the hold
// that the drain requests for the time after the stop, see Drain.Then.
func (o *Observed) effectiveHold() session.Hold {
	if o.Hold.Kind == "" && o.IsDraining() && o.unknown() == "" && !o.running() && !o.orphaned() {
		return session.Hold{Kind: o.Drain.Then, Reason: o.Drain.Reason, Since: o.Drain.Since}
	}
	return o.Hold
}

// jitterFor returns a part of span between 0 and span, which depends only on the name and the
// epoch. So sessions with the same setting do not act at the same time.
func jitterFor(span time.Duration, name string, epoch uint64) time.Duration {
	sum := sha256.Sum256(strconv.AppendUint([]byte(name+"\x00"), epoch, 10))
	return span / (1 << 16) * time.Duration(binary.BigEndian.Uint16(sum[:]))
}
