package controller

import (
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// applyConfig makes a loaded configuration the current one.
func (l *loop) applyConfig(loaded Loaded) {
	previous := l.desired
	if loaded.Accepted != nil {
		loaded.Accepted()
	}
	l.followRenames(previous, &loaded.Desired)
	l.loaded, l.loadedAt, l.loadError = loaded, l.now(), ""
	l.desired = make(map[session.Key]*plan.Session, len(loaded.Desired.Sessions))
	for _, s := range loaded.Desired.Sessions {
		key := s.Key()
		l.desired[key] = s
		p := l.backendFor(s.Provider)
		e := l.entries[key]
		if e == nil {
			e = l.add(p, s.Name)
		}
		if e.rec.Agent != s.Agent {
			e.rec.Agent = s.Agent
			e.touch()
		}
		if before := previous[key]; before != nil && e.rec.Fault != "" && ops.Edited(before, s) {
			e.rec.ResetFailures() // the failures belong to another configuration
			e.touch()
		}
		delete(p.foreign, s.Name)
	}
	l.dirty = true
}

// followRenames detects agents that were renamed in city.toml: one agent section is gone, and exactly one new section has the
// same content. The running session then belongs to the new name. gc stops it at the end of its turn and starts the agent under
// its new name in the same conversation.
func (l *loop) followRenames(previous map[session.Key]*plan.Session, next *plan.Desired) {
	gone, added := map[string][]*plan.Session{}, map[string][]*plan.Session{}
	known := map[string]bool{}
	for _, s := range previous {
		known[s.Agent] = true
		if next.SessionOf(s.Agent) == nil && s.Section != "" {
			gone[s.Section] = append(gone[s.Section], s)
		}
	}
	for _, s := range next.Sessions {
		if !known[s.Agent] && s.Section != "" {
			added[s.Section] = append(added[s.Section], s)
		}
	}
	for section, was := range gone {
		is := added[section]
		if len(was) != 1 || len(is) != 1 || was[0].Provider != is[0].Provider {
			continue
		}
		e := l.entries[was[0].Key()]
		if e == nil || e.owner == plan.OwnerOther || l.entries[is[0].Key()] != nil {
			continue
		}
		e.rec.Agent = is[0].Agent
		e.touch()
		l.c.opts.Logger.Info("an agent was renamed", "from", was[0].Agent, "to", is[0].Agent)
	}
}

// movesTo returns the session in which a renamed agent starts after this one has stopped; empty if
// the agent was not renamed.
func (l *loop) movesTo(e *entry) string {
	if l.desired[e.rec.Key()] != nil || e.rec.Agent == "" || e.owner == plan.OwnerOther {
		return ""
	}
	if s := l.loaded.Desired.SessionOf(e.rec.Agent); s != nil && s.Name != e.rec.Session {
		return s.Name
	}
	return ""
}

// pass observes stale sessions, decides, and begins the decided actions.
func (l *loop) pass() {
	l.retryLoadRecords()
	l.checkStore()
	if l.unread != "" && l.ending == nil {
		l.decide()
		return
	}
	for _, p := range l.backends {
		l.list(p)
	}
	l.observing = l.countObservations()
	for _, e := range l.entries { // map order is random, so no session is always last
		l.observeEntry(e)
	}
	l.decide()
	if l.ending != nil {
		l.continueCityStop()
	}
	l.beginActions()
	l.syncDrains()
	l.setHints()
	l.updateStartDeadlines()
	for _, e := range l.entries {
		l.save(e)
	}
	_, again := l.saver.Health()
	l.wakeAt(again)
}

// facts returns the observed state of every session and the policy, the inputs of [plan.Diff] besides the configuration.
func (l *loop) facts() ([]plan.Observed, plan.Policy) {
	observed := make([]plan.Observed, 0, len(l.entries))
	for _, e := range l.entries {
		observed = append(observed, l.observed(e))
	}
	return observed, l.policy()
}

// policy returns the policy of a diff, from the settings and the current state of the loop.
func (l *loop) policy() plan.Policy {
	s := l.settings()
	policy := plan.Policy{
		MaxRestarts: s.MaxRestarts, RestartWindow: s.RestartWindow, Patrol: s.PatrolInterval,
		Disruptions: maxDisruptions, Quiet: quietTime, DriftWait: s.DriftDrainTimeout, AskAfter: s.UnknownActivityWait,
		Frozen: l.frozen, ResumedAt: l.jumpedAt, Closed: l.closed(), PoolWants: l.counts.Wants, PoolFaults: l.counts.Faults,
	}
	if l.ending != nil {
		policy.Stopping, policy.StopAfter = true, l.ending.StopAfter
	}
	return policy
}

// decide computes the decision about every session and records it.
func (l *loop) decide() {
	clear(l.edges)
	observed, policy := l.facts()
	l.actions = plan.Diff(l.loaded.Desired, observed, l.now(), policy)
	decided := make(map[session.Key]bool, len(l.actions))
	for _, a := range l.actions {
		key := a.Key()
		decided[key] = true
		if e := l.entries[key]; e != nil {
			l.recordDecision(e, a)
		}
		if a.After.After(l.now()) {
			l.wakeAt(a.After)
		}
	}
	for key, e := range l.entries {
		if !decided[key] && e.job == nil && !e.stale && !e.unknown() {
			l.drop(e)
		}
	}
}

// configured returns the configuration of the entry's agent; nil if the agent is not configured. While an agent is to move to
// another provider but cannot start there yet, it returns the configuration at the other provider.
func (l *loop) configured(e *entry) *plan.Session {
	if s := l.desired[e.rec.Key()]; s != nil || !e.action.MovePending {
		return s
	}
	return l.loaded.Desired.SessionOf(e.rec.Agent)
}

// collectStates moves the state that belongs to target's agent from its entries at other providers to target. It is called before
// a start. If it returns true, something changed, and the start must be decided again.
func (l *loop) collectStates(target *entry) (changed bool) {
	for _, e := range l.entries {
		if e.rec.Agent == target.rec.Agent && l.transferState(target, e) {
			changed = true
		}
	}
	l.dirty = l.dirty || changed
	return changed
}

// transferState moves the state that belongs to the agent, such as its conversation, from e to target. It does nothing and
// returns false if there is nothing to move or if target already runs an instance.
func (l *loop) transferState(target, e *entry) (changed bool) {
	if target == nil || target == e || e.owner == plan.OwnerOther || target.rec.Running || target.job != nil && target.job.kind != jobObserve || !target.rec.CopyAgentState(&e.rec) {
		return false
	}
	target.touch()
	e.touch()
	l.save(target) // before the other record is removed
	return true
}

// drop removes an entry that is not configured any more and does not run. If its session belongs to another city, it is not
// observed again until it disappears from a listing.
func (l *loop) drop(e *entry) {
	if e.exists() && e.owner != plan.OwnerThisCity {
		e.backend.foreign[e.rec.Session] = true
	}
	if s := l.loaded.Desired.SessionOf(e.rec.Agent); s != nil {
		l.transferState(l.entries[s.Key()], e) // it is configured at another provider
	}
	l.remove(e)
}

// recordDecision stores the decision a in the entry and emits events for what differs from the previous decision.
func (l *loop) recordDecision(e *entry, a plan.Action) {
	before := e.action
	e.action = a
	switch {
	case !a.Drifted:
		e.driftedAt = time.Time{}
	case e.driftedAt.IsZero():
		e.driftedAt, e.confirmed = l.now(), false
		data := map[string]string{"fields": strings.Join(a.Fields, ","), "action": string(a.Verb)}
		if a.Verb == plan.VerbWait {
			data["deferred"] = a.Reason
		}
		l.emit(event.SessionDrift, e, "the configuration differs from what the session was started with", data)
	}
	l.trackWait(e, &a)
	l.trackStall(e, &a)
	restored := e.job == nil && e.known && e.running() && !a.Drifted
	if e.disrupted && (restored || a.Desired != client.DesiredRunning) {
		e.disrupted, l.dirty = false, true // another agent may be disrupted now
	}
	if quarantined(a) && !quarantined(before) {
		l.emit(event.SessionQuarantined, e, "the agent failed too often; gc does not start it for a while",
			map[string]string{"reason": a.Reason, "until": explain.Stamp(a.After)})
	}
	if a.Rebaseline && e.job == nil {
		l.rebaseline(e)
	}
	if a.Verb != plan.VerbStart {
		l.unclaim(e)
	}
	if a.Verb != plan.VerbRelaunch && e.job == nil {
		l.restoreConversation(e)
	}
	l.applyDecision(e, a)
	if e.rec.SetState(stateOf(a), l.now()) {
		e.touch()
	}
}

// applyDecision changes the record as the decision requires: it releases a hold or begins a drain.
func (l *loop) applyDecision(e *entry, a plan.Action) {
	switch {
	case a.ReleaseHold && e.rec.Hold.Kind != "":
		l.releaseHold(e, e.wakeWhy)
	case a.Verb == plan.VerbDrain && !e.rec.IsDraining():
		l.beginDrain(e, a.Drain)
	}
}

// beginActions begins the actions that the pass has decided, within the limits for concurrent starts and stops. It skips a
// session while a job runs on it or its observation is too old.
func (l *loop) beginActions() {
	starts, stops := l.countUnderWay()
	left := slots{l.settings().MaxWakesPerTick - starts, stopsAtOnce - stops}
	for _, a := range l.actions {
		key := a.Key()
		e, s := l.entries[key], l.desired[key]
		if e == nil || e.job != nil || e.stale || e.backend.provider == nil {
			continue
		}
		if (a.Drifted || a.Unrequested) && (a.Verb.Ends() || a.Verb == plan.VerbInterrupt) && !l.hasFreshObservation(e) {
			continue
		}
		if a.Hold.Kind != "" && e.rec.Hold.Kind == "" && a.Verb.Acts() {
			l.setHold(e, a.Hold) // the stop follows after the store has saved it
			continue
		}
		if a.StartInterrupted && a.Verb == plan.VerbStop && e.rec.Start != session.StartCut {
			l.countInterruptedStart(e) // the stop follows after the store has saved it
			continue
		}
		if a.Verb.Acts() && !l.storePermits(e, a) {
			continue
		}
		l.carryOut(e, s, a, &left)
	}
}

// hasFreshObservation reports whether the session was observed so recently that gc may stop it without a person's order. If not,
// it begins an observation and a read of the agent's channels, and a later pass decides again.
func (l *loop) hasFreshObservation(e *entry) bool {
	s, ok := &e.sensing, true
	if !e.confirmed || l.now().Sub(e.seen.At) > freshObservation {
		e.stale, ok = true, false // a person may have attached since then
		l.observeEntry(e)
	}
	if e.running() && !s.unsupported && l.now().Sub(s.reportedAt) > freshObservation {
		s.needed, ok = true, false
		l.sense(e)
	}
	return ok
}

// setHold stores in the record the hold that a decision requires.
func (l *loop) setHold(e *entry, h session.Hold) {
	e.rec.Hold = h
	e.touch()
	l.dirty = true
	l.emitEvent(e, newHeldEvent(h))
}

// countInterruptedStart records an interrupted start as a failed start, once for each instance.
func (l *loop) countInterruptedStart(e *entry) {
	if l.frozen != "" {
		return
	}
	e.rec.Start = session.StartCut
	e.rec.Conversation.MarkNotBegun()
	l.fail(e, e.action.Reason)
	l.dirty = true
	l.emit(event.SessionStartFailed, e, "the start failed: "+e.action.Reason,
		map[string]string{"error": e.action.Reason, "class": "cut off", "next": explain.Stamp(e.rec.NextAt)})
}

// slots are the numbers of starts and stops that the limits still allow.
type slots struct{ starts, stops int }

// carryOut begins one action on a session. left is the number of starts and stops that the limits still allow in this pass;
// carryOut decreases it, and begins nothing when the number is used up. A relaunch and a change of a running session count as
// starts, a restart counts as a stop. A session that is disturbed because its configuration changed is marked as disrupted.
func (l *loop) carryOut(e *entry, s *plan.Session, a plan.Action, left *slots) {
	switch a.Verb {
	case plan.VerbStart:
		if left.starts--; left.starts >= 0 {
			l.startOrClaim(e, s)
		}
	case plan.VerbStop, plan.VerbRestart:
		if left.stops--; left.stops >= 0 {
			e.disrupted = e.disrupted || a.Drifted
			l.stop(e, a)
		}
	case plan.VerbRelaunch, plan.VerbApplyLive:
		if left.starts--; left.starts >= 0 {
			l.change(e, s, a)
			if a.Verb == plan.VerbRelaunch && e.job != nil {
				e.disrupted = e.disrupted || a.Drifted
			}
		}
	case plan.VerbInterrupt:
		l.interruptStalled(e)
	case plan.VerbAdopt:
		l.adopt(e, s)
	default:
	}
}

// startOrClaim starts a session in two steps: the first call claims the next instance in the record, and a later call starts it
// after the store has saved the claim.
func (l *loop) startOrClaim(e *entry, s *plan.Session) {
	switch {
	case !e.claimed:
		l.claim(e, s)
	case e.durable():
		l.start(e, s)
	}
}

// storePermits reports whether an action may begin as far as the store is concerned. While the store fails, or the record of the
// session is not saved, gc starts and stops nothing, because a later controller would not know about it. Exceptions are a stop of
// the city and a person's request to kill a session.
func (l *loop) storePermits(e *entry, a plan.Action) bool {
	switch {
	case a.Verb == plan.VerbAdopt, l.ending != nil, e.order == plan.OrderKill && a.Verb == plan.VerbStop:
		return true
	case l.frozen != "":
		return false
	}
	return a.Verb == plan.VerbStart || e.durable()
}

// countUnderWay returns the number of running starts and stops. A start or stop that is overdue is not counted, so that it delays
// no other.
func (l *loop) countUnderWay() (starts, stops int) {
	for _, e := range l.entries {
		if e.job == nil || !l.now().Before(e.job.overdue) {
			continue
		}
		l.wakeAt(e.job.overdue)
		switch e.job.kind {
		case jobStart, jobChange:
			starts++
		case jobStop:
			stops++
		default:
		}
	}
	return starts, stops
}

// quarantined reports whether a decision puts the session in quarantine.
func quarantined(a plan.Action) bool { return a.State == client.StateQuarantined }
