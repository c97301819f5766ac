package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/proc"
	"gascity/runtime"
)

// stop begins to stop the instance that was observed. If another instance runs by then, that one is not stopped.
func (l *loop) stop(e *entry, a plan.Action) {
	p := e.backend.provider
	victim := &ops.StopTarget{Name: e.rec.Session, Token: e.rec.Token, Seen: e.seen, Tree: e.tree}
	if e.order == plan.OrderKill {
		e.order = plan.OrderNone
	}
	e.apply = false
	l.emit(event.SessionStopping, e, "the controller is stopping the session", map[string]string{"reason": a.Reason})
	began := l.now()
	l.begin(e, jobStop, a.Verb, stopLimit, func(ctx context.Context) func() {
		r := victim.End(ctx, p)
		return func() { l.stopped(e, a, began, r) }
	})
}

// stopped applies the result of a stop.
func (l *loop) stopped(e *entry, a plan.Action, began time.Time, r ops.Ended) {
	e.tree = nil
	e.stops++
	from := began
	if l.ending != nil && l.ending.BeganAt.Before(from) {
		from = l.ending.BeganAt // the agent was interrupted before
	}
	e.last = client.StopResult{
		Session: e.rec.Session, Agent: e.rec.Agent, Processes: r.Processes, Uncounted: r.Uncounted, Survivors: r.Survivors,
		Seconds: l.now().Sub(from).Seconds(),
	}
	e.touch()
	if r.Err != nil || len(r.Survivors) > 0 {
		l.stopFailed(e, r)
		return
	}
	e.known, e.tries, e.stopAt, e.stopFault = false, 0, time.Time{}, ""
	if e.rec.Running {
		e.rec.Exit = nil // gc stopped it, so it has no exit status of its own
	}
	if e.rec.Start != session.StartCut {
		e.rec.NextAt = time.Time{}
	}
	e.rec.Running, e.rec.Lost, e.rec.Start, e.startInterrupted = false, false, session.StartDone, false
	if began.Sub(e.rec.StartedAt) >= plan.ConversationSettleTime {
		e.rec.Conversation.MarkReached()
	}
	l.recordReportedEnd(e, a)
	e.clearSenses()
	e.rec.Screen = cmp.Or(r.Screen, e.rec.Screen)
	l.recordEnd(e, a.Reason)
	l.applyFinding(e, r.Finding)
	l.emit(event.SessionStopped, e, "the controller stopped the session", map[string]string{"reason": a.Reason, "processes": fmt.Sprint(r.Processes)})
	l.addToCensus(e)
}

// recordReportedEnd records how an instance exited that had reported its own end before gc stopped its session. Unless the agent
// has finished its task, the exit counts as a failure.
func (l *loop) recordReportedEnd(e *entry, a plan.Action) {
	end := e.sensing.ended
	if !a.SelfEnded || end == nil {
		return
	}
	e.rec.Exit = end.Exit
	if s := l.desired[e.rec.Key()]; s == nil || s.Config.Lifecycle != runtime.LifecycleOneShot || end.Crashed {
		l.failAfter(e, end.At.Sub(e.rec.StartedAt), a.Reason)
	}
}

// stopFailed records a failed stop and delays the next attempt. If the error is that another instance runs now, nothing is
// delayed: the next observation shows that instance.
func (l *loop) stopFailed(e *entry, r ops.Ended) {
	e.stale = true
	if errors.Is(r.Err, runtime.ErrStaleInstance) {
		e.last.Error = "nothing was stopped: the session now runs another instance"
		return
	}
	e.tries++
	if r.Err != nil {
		e.stopFault = ops.Fault(r.Err)
	} else {
		e.stopFault = fmt.Sprintf("processes %v still run", r.Survivors)
	}
	e.last.Error = e.stopFault
	e.stopAt = l.now().Add(l.c.opts.Jitter(ops.Pause(e.tries)))
	l.emit(event.SessionStopFailed, e, "the stop failed: "+ops.FirstLine(e.stopFault),
		map[string]string{"error": e.stopFault, "survivors": strings.Trim(fmt.Sprint(r.Survivors), "[]")})
	l.addToCensus(e)
}

// ending is the state of a stop of the whole city. It is set before the first session is stopped.
// From then on nothing is started.
type ending struct {
	BeganAt   time.Time // when the stop of the city began
	StopAfter time.Time // from then on, running sessions are stopped
	AwayFrom  time.Time // from then on, sessions of a provider that does not answer are not waited for
	Deadline  time.Time // from then on, running sessions are reported and not waited for

	results map[string]client.StopResult // by session
	waiting []func(client.Census, error)
	closing bool // the servers of the providers are being stopped
	strays  bool // processes without a session survived; the next stop tries again
	stuck   bool // the callers got an unclean result; gc still tries to stop the rest
}

// beginCityStop begins to stop the city.
func (l *loop) beginCityStop() {
	now, grace := l.now(), cmp.Or(l.settings().ShutdownTimeout, shutdownLimit)
	l.ending = &ending{
		BeganAt: now, StopAfter: now.Add(grace), AwayFrom: now.Add(awayAfter), Deadline: now.Add(grace + stopLimit + overdueAfter),
		results: map[string]client.StopResult{},
	}
	l.emit(event.ControllerStopping, nil, "the city is being stopped", map[string]string{"scope": "city"})
	for _, p := range l.backends {
		p.wanted, p.listAfter = true, time.Time{} // the census needs a new listing
	}
	for _, e := range l.entries {
		e.order, e.tries, e.stopAt = plan.OrderNone, 0, time.Time{}
		if e.job != nil && e.job.kind == jobStart {
			e.job.cancel()
		}
	}
	l.dirty = true
}

// addToCensus adds the result of a session's last stop to the census, the report of a stop of the whole city. It does nothing if
// the city is not being stopped.
func (l *loop) addToCensus(e *entry) {
	if l.ending != nil {
		l.ending.results[e.last.Session] = e.last
	}
}

// continueCityStop continues a stop of the city in each pass: it interrupts the running agents, and answers the callers when
// every session has stopped or the deadline for waiting has passed. gc keeps trying to stop what is left.
func (l *loop) continueCityStop() {
	l.wakeAt(l.ending.Deadline)
	l.wakeAt(l.ending.AwayFrom)
	l.interruptAll()
	awaited, left, uncounted := l.ending.closing, []client.StopResult{}, map[string]string{}
	for _, p := range l.backends {
		if why := p.uncounted(); why != "" {
			awaited, uncounted[p.selection] = awaited || l.now().Before(l.waitDeadline(p, "")), why
		}
	}
	for _, e := range l.entries {
		if l.blocksCityStop(e) {
			awaited = awaited || l.now().Before(l.waitDeadline(e.backend, e.rec.Session))
			left = append(left, client.StopResult{Session: e.rec.Session, Agent: e.rec.Agent, Error: l.whyLeft(e)})
			delete(uncounted, e.backend.selection) // the sessions are reported one by one
		}
	}
	switch census := l.ending.Census(left, uncounted); {
	case awaited, l.ending.strays:
	case census.Clean:
		l.ending.closing = true
		l.closeServers(census)
	case !l.ending.stuck:
		l.answerCityStop(census)
	}
}

// uncounted returns why a provider may have sessions that gc does not know of; empty if all its sessions were listed since the
// stop of the city began.
func (p *backend) uncounted() string {
	if why := p.health.Fault(); why != "" || !p.wanted && !p.listing && !p.opening {
		return why
	}
	return "it does not answer"
}

// isUnresponsive reports whether the provider failed repeatedly or does not answer.
func (l *loop) isUnresponsive(p *backend) bool {
	answer := p.listedAt.Add(awayAfter)
	l.wakeAt(answer)
	return p.health.Failures > 1 || p.opening || p.listing && !l.now().Before(answer)
}

// waitDeadline returns the time until which the stop of the city waits for a session: AwayFrom if its
// provider does not answer, else Deadline.
func (l *loop) waitDeadline(p *backend, name string) time.Time {
	if l.isUnresponsive(p) && (p.health.Fault() == "" || p.health.WhyUnknown(name) != "") {
		return l.ending.AwayFrom
	}
	return l.ending.Deadline
}

// blocksCityStop reports whether the stop of the city must still wait for this session. It does not wait for sessions of other
// cities, nor for one that could not be stopped after [stopTries] attempts.
func (l *loop) blocksCityStop(e *entry) bool {
	switch {
	case e.job != nil && e.job.kind != jobObserve:
		return true
	case e.owner == plan.OwnerOther, e.tries >= stopTries:
		return false
	case e.owner == plan.OwnerUnknown && l.desired[e.rec.Key()] == nil:
		return e.unread() // wait for the observation that shows its owner
	}
	return e.unknown() || e.stale || e.exists()
}

// whyLeft returns why a session has not stopped yet, or is unknown, while the city is being stopped.
func (l *loop) whyLeft(e *entry) string {
	switch why := cmp.Or(e.backend.health.WhyUnknown(e.rec.Session), e.unknownReason); {
	case why != "":
		return why
	case l.isUnresponsive(e.backend):
		return e.backend.selection + " does not answer"
	case e.job != nil:
		return fmt.Sprintf("its %s does not finish", cmp.Or(string(e.job.verb), "interrupt"))
	}
	return cmp.Or(e.stopFault, e.action.Reason)
}

// interruptAll interrupts the turn of every running agent once, and records the agent's processes first, so that survivors are
// found later.
func (l *loop) interruptAll() {
	if !l.now().Before(l.ending.StopAfter) {
		return
	}
	busy := 0
	for _, e := range l.entries {
		if e.job != nil && e.job.kind == jobInterrupt && l.now().Before(e.job.overdue) {
			busy++
		}
	}
	for _, e := range l.entries {
		if e.tree != nil || e.job != nil || e.stale || !e.running() || e.owner != plan.OwnerThisCity || busy >= interruptsAtOnce {
			continue
		}
		busy++
		e.tree = []proc.Info{}
		p, name, token, seen := e.backend.provider, e.rec.Session, e.rec.Token, e.seen
		l.begin(e, jobInterrupt, "", interruptLimit, func(ctx context.Context) func() {
			tree := ops.Tree(&seen)
			err := ops.Interrupt(ctx, p, name, token)
			return func() {
				e.tree = append(e.tree, tree...)
				e.stale = true
				if err != nil {
					l.c.opts.Logger.Warn("cannot interrupt a session", "session", name, "error", err)
				}
			}
		})
	}
}

// closeServers stops the servers of the providers and the processes that belong to no session. Then it answers the callers of
// [Controller.StopCity].
func (l *loop) closeServers(census client.Census) {
	var providers []runtime.Provider
	for _, p := range l.backends {
		if p.provider != nil {
			providers = append(providers, p.provider)
		}
	}
	l.spawn(stopLimit, func(ctx context.Context) func() {
		err := ops.CloseServers(providers)
		strays, strayErr := l.c.opts.EndStrays(ctx)
		return func() {
			if err != nil {
				l.c.opts.Logger.Warn("cannot stop the server of a provider, such as tmux", "error", err)
			}
			if strayErr != nil {
				l.c.opts.Logger.Warn("cannot stop processes that belong to no session", "error", strayErr)
			}
			l.answerCityStop(l.ending.With(census, strays, strayErr))
		}
	})
}

// answerCityStop sends the census, the report of the stop, to the callers that wait for it. The controller exits only if the
// census shows that every agent has stopped. Otherwise it stays, starts nothing, and continues to stop the others.
func (l *loop) answerCityStop(census client.Census) {
	waiting := l.ending.waiting
	l.ending.waiting = nil
	for _, answer := range waiting {
		answer(census, nil)
	}
	l.exiting, l.ending.stuck = l.exiting || census.Clean, !census.Clean
	l.ending.strays = l.ending.closing && !census.Clean
	l.ending.closing = l.ending.closing && census.Clean
}
