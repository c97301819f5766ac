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

// target is what a session is meant to be, and what it is called if it is not to
// run and does not.
type target struct {
	desired, state, reason string
	woken                  bool // it was held, and is not any more
	surplus                bool // a member beyond what its pool wants
	until                  time.Time
}

var cityEnds = target{desired: DesiredStopped, state: client.StateStopped, reason: "the city ends"}

// targetFor returns what a session is meant to be. o may be nil.
func (d *planner) targetFor(s *Session, o *Observed) target {
	switch {
	case d.policy.Stopping:
		return cityEnds
	case s.Suspended:
		return target{desired: DesiredSuspended, state: client.StateSuspended, reason: "it is suspended"}
	}
	held, woken := session.Hold{}, false
	if o != nil {
		held = o.effectiveHold()
		woken = held.Kind == session.HoldSleep && d.wakeReason(s, o) != ""
	}
	switch {
	case held.Kind == "" || woken:
	case held.Kind == session.HoldSleep:
		return target{desired: DesiredStopped, state: client.StateAsleep, reason: appendReason("it sleeps", held.Reason)}
	case held.Kind == session.HoldBudget:
		return target{desired: DesiredSuspended, state: client.StateSuspended, reason: appendReason("it is out of its budget", held.Reason), until: held.Until}
	default: // an unknown hold keeps more, not less
		return target{desired: DesiredSuspended, state: client.StateSuspended, reason: appendReason("it is suspended", held.Reason)}
	}
	if p := d.pools[s.Pool]; p != nil && !p.wanted[s.Agent] {
		return target{desired: DesiredStopped, state: client.StateStopped, reason: p.reason(), surplus: true, woken: woken}
	}
	return target{desired: DesiredRunning, woken: woken}
}

func appendReason(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// wakeReason returns why a session that sleeps is to run, empty if nothing wakes it.
func (d *planner) wakeReason(s *Session, o *Observed) string {
	switch {
	case o.WakeReason != "":
		return o.WakeReason
	case o.Queued == 1 && o.isPrompted():
		return "a prompt waits for it"
	case o.isPrompted():
		return fmt.Sprintf("%d prompts wait for it", o.Queued)
	case o.Order == OrderRestart:
		return "a restart was asked for"
	case d.required[s.Agent] != "":
		return d.required[s.Agent] + " depends on it"
	}
	return ""
}

// isPrompted reports whether a prompt asks for the session. One that waited already
// when the session was put to sleep goes on waiting.
func (o *Observed) isPrompted() bool {
	held := o.effectiveHold()
	return o.Queued > 0 && (held.Kind != session.HoldSleep || o.PromptAt.IsZero() || o.PromptAt.After(held.Since))
}

// findRequired finds the sleeping sessions that another one needs before it can start.
func (d *planner) findRequired(sessions []Session) {
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
	for i := range sessions {
		if len(sessions[i].DependsOn) > 0 && d.needsStart(&sessions[i]) {
			needs(&sessions[i])
		}
	}
}

// needsStart reports whether a session is to run and is not there.
func (d *planner) needsStart(s *Session) bool {
	o := d.at(s)
	if o == nil || o.exists() || o.unknown() != "" || s.Config.Lifecycle == runtime.LifecycleOneShot && o.finished() {
		return false
	}
	return d.targetFor(s, o).desired == DesiredRunning
}

// effectiveHold returns the hold that keeps the session from running: the one that is
// kept, or the one that follows a drain whose instance is over.
func (o *Observed) effectiveHold() session.Hold {
	if o.Hold.Kind == "" && o.draining() && o.unknown() == "" && !o.running() && !o.orphaned() {
		return session.Hold{Kind: o.Drain.Then, Reason: o.Drain.Reason, Since: o.Drain.Since}
	}
	return o.Hold
}

// draining reports whether the instance that runs, or the last one, was asked
// to wind down.
func (o *Observed) draining() bool { return o.Epoch != 0 && o.Drain.Epoch == o.Epoch }

// jitterFor returns a part of the span that is always the same for the same
// instance.
func jitterFor(span time.Duration, name string, epoch uint64) time.Duration {
	sum := sha256.Sum256(strconv.AppendUint([]byte(name+"\x00"), epoch, 10))
	return span / (1 << 16) * time.Duration(binary.BigEndian.Uint16(sum[:]))
}
