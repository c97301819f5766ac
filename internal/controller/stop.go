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
	"gascity/internal/domain/conversation"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/proc"
	"gascity/runtime"
)

// stop begins the end of an instance: of the one that was observed, and of no
// successor.
func (l *loop) stop(e *entry, a plan.Action) {
	p := e.backend.provider
	victim := &ops.StopTarget{Name: e.rec.Session, Token: e.rec.Token, Seen: e.seen, Tree: e.tree}
	if e.order == plan.OrderKill {
		e.order = plan.OrderNone
	}
	e.apply = false
	l.c.emit(event.SessionStopping, e, "a stop began", map[string]string{"reason": a.Reason})
	began := l.now()
	l.begin(e, jobStop, a.Verb, stopLimit, func(ctx context.Context) func() {
		r := victim.End(ctx, p)
		return func() { l.stopped(e, a, began, r) }
	})
}

func (l *loop) stopped(e *entry, a plan.Action, began time.Time, r ops.Ended) {
	e.tree = nil
	e.stops++
	e.last = client.StopResult{
		Session: e.rec.Session, Agent: e.rec.Agent, Processes: r.Processes, Uncounted: r.Uncounted, Survivors: r.Survivors,
		Seconds: l.now().Sub(began).Seconds(),
	}
	e.touch()
	if r.Err != nil || len(r.Survivors) > 0 {
		l.stopFailed(e, r)
		return
	}
	e.known, e.tries, e.stopAt, e.stopFault = false, 0, time.Time{}, ""
	if e.rec.Running {
		e.rec.Exit = nil // it did not end by itself
	}
	if e.rec.Start != session.StartCut {
		e.rec.NextAt = time.Time{}
	}
	e.rec.Running, e.rec.Lost, e.rec.Start, e.cut = false, false, session.StartDone, false
	if began.Sub(e.rec.StartedAt) >= conversation.SettleTime {
		e.rec.Conversation.MarkReached()
	}
	l.cleared(e, a)
	e.clearSenses()
	l.life(e, a.Reason)
	l.found(e, r.Finding)
	l.c.emit(event.SessionStopped, e, "the session was ended", map[string]string{"reason": a.Reason, "processes": fmt.Sprint(r.Processes)})
	l.countEnd(e)
}

// cleared takes note of how an instance ended that was cleared away after it had
// ended by its own word.
func (l *loop) cleared(e *entry, a plan.Action) {
	end := e.sensing.ended
	if !a.SelfEnded || end == nil {
		return
	}
	e.rec.Exit = end.Exit
	if s := l.desired[e.rec.Key()]; s == nil || s.Config.Lifecycle != runtime.LifecycleOneShot || end.Crashed {
		l.failAfter(e, end.At.Sub(e.rec.StartedAt), a.Reason)
	}
}

// stopFailed puts the next try off. A stale instance is no failure of the stop:
// somebody else has replaced it, and a look shows by what. The caller gets the
// error.
func (l *loop) stopFailed(e *entry, r ops.Ended) {
	e.stale = true
	if errors.Is(r.Err, runtime.ErrStaleInstance) {
		e.last.Error = "nothing was ended: another instance has taken its place"
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
	l.c.emit(event.SessionStopFailed, e, "the stop failed: "+ops.FirstLine(e.stopFault),
		map[string]string{"error": e.stopFault, "survivors": strings.Trim(fmt.Sprint(r.Survivors), "[]")})
	l.countEnd(e)
}

// ending is the end of the city. It is in force before the first session gets
// its stop request, and from then on nothing is started.
type ending struct {
	shutdown

	waiting []func(client.Census, error)
	closing bool // the servers of the providers are being ended
	strays  bool // processes without a session survived: the next stop tries again
	stuck   bool // it was answered, and something could not be ended: that is still tried
}

// beginEnd puts the end of the city into force.
func (l *loop) beginEnd() {
	now, settings := l.now(), l.settings()
	l.ending = &ending{shutdown: newShutdown(now.Add(settings.Shutdown), now.Add(awayAfter), now.Add(settings.Shutdown+stopLimit+overdueAfter))}
	l.c.emit(event.ControllerStopping, nil, "the city ends", map[string]string{"scope": "city"})
	for _, p := range l.backends {
		p.wanted, p.listAfter = true, time.Time{} // the census counts what is there, not what was known
	}
	for _, e := range l.entries {
		e.order, e.tries, e.stopAt = plan.OrderNone, 0, time.Time{}
		if e.job != nil && e.job.kind == jobStart {
			e.job.cancel()
		}
	}
	l.dirty = true
}

// countEnd takes a session's end into the census of the city.
func (l *loop) countEnd(e *entry) {
	if l.ending != nil {
		l.ending.Add(e.last)
	}
}

// endCity interrupts what runs, and answers once nothing is left to do or to wait for.
// What could not be ended is tried further: the city has ended when it has.
func (l *loop) endCity() {
	l.wakeAt(l.ending.Deadline)
	l.wakeAt(l.ending.AwayFrom)
	l.interruptAll()
	awaited, left, uncounted := l.ending.closing, []client.StopResult{}, map[string]string{}
	for _, p := range l.backends {
		if why := p.uncounted(); why != "" {
			awaited, uncounted[p.selection] = awaited || l.now().Before(l.until(p, "")), why
		}
	}
	for _, e := range l.entries {
		if l.unsettled(e) {
			awaited = awaited || l.now().Before(l.until(e.backend, e.rec.Session))
			left = append(left, client.StopResult{Session: e.rec.Session, Agent: e.rec.Agent, Error: l.whyLeft(e)})
			delete(uncounted, e.backend.selection) // its sessions say it
		}
	}
	switch census := l.ending.Census(left, uncounted); {
	case awaited, l.ending.strays:
	case census.Clean:
		l.ending.closing = true
		l.closeServers(census)
	case !l.ending.stuck:
		l.endedCity(census)
	}
}

// uncounted returns why there may be more sessions than is known; empty if all have been
// listed since the end began.
func (p *backend) uncounted() string {
	if why := p.health.Fault(); why != "" || !p.wanted && !p.listing && !p.opening {
		return why
	}
	return "it does not answer"
}

// lost reports whether a place fails again and again, or does not answer at all.
func (l *loop) lost(p *backend) bool {
	answer := p.listedAt.Add(awayAfter)
	l.wakeAt(answer)
	return p.health.Failures > 1 || p.opening || p.listing && !l.now().Before(answer)
}

// until returns how long a session is waited for: at a place that is lost until it ought to have
// answered, anywhere else as long as a stop may last.
func (l *loop) until(p *backend, name string) time.Time {
	if l.lost(p) && (p.health.Fault() == "" || p.health.WhyUnknown(name) != "") {
		return l.ending.AwayFrom
	}
	return l.ending.Deadline
}

// unsettled reports whether an entry still keeps the city from its end.
func (l *loop) unsettled(e *entry) bool {
	switch {
	case e.job != nil && e.job.kind != jobObserve:
		return true
	case e.owner == plan.OwnerOther, e.tries >= stopTries:
		return false
	case e.owner == plan.OwnerUnknown && l.desired[e.rec.Key()] == nil:
		return e.unread() // it may be this city's: the look that shows that is awaited
	}
	return e.unknown() || e.stale || e.exists()
}

func (l *loop) whyLeft(e *entry) string {
	switch why := cmp.Or(e.backend.health.WhyUnknown(e.rec.Session), e.unknownReason); {
	case why != "":
		return why
	case l.lost(e.backend):
		return e.backend.selection + " does not answer"
	case e.job != nil:
		return fmt.Sprintf("its %s does not end", cmp.Or(string(e.job.verb), "interrupt"))
	}
	return cmp.Or(e.stopFault, e.action.Reason)
}

// interruptAll asks every running agent once to end by itself, and counts its
// processes while they are all there.
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

// closeServers ends what the sessions shared, then the city.
func (l *loop) closeServers(census client.Census) {
	var providers []runtime.Provider
	for _, p := range l.backends {
		if p.provider != nil {
			providers = append(providers, p.provider)
		}
	}
	l.spawn(stopLimit, func(ctx context.Context) func() {
		err := ops.CloseServers(providers)
		var strays []client.StopResult
		var strayErr error
		if l.c.opts.EndStrays != nil {
			strays, strayErr = l.c.opts.EndStrays(ctx)
		}
		return func() {
			if err != nil {
				l.c.opts.Logger.Warn("cannot end a provider's server", "error", err)
			}
			if strayErr != nil {
				l.c.opts.Logger.Warn("cannot stop processes that no session has", "error", strayErr)
			}
			l.endedCity(l.ending.With(census, strays, strayErr))
		}
	})
}

// endedCity answers who waits. Only a clean end ends the controller: else it stays,
// starts nothing, and goes on with the stop.
func (l *loop) endedCity(census client.Census) {
	waiting := l.ending.waiting
	l.ending.waiting = nil
	for _, answer := range waiting {
		answer(census, nil)
	}
	l.leaving, l.ending.stuck = l.leaving || census.Clean, !census.Clean
	l.ending.strays = l.ending.closing && !census.Clean
	l.ending.closing = l.ending.closing && census.Clean
}
