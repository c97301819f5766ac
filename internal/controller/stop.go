package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/controller/account"
	"gascity/internal/controller/reach"
	"gascity/internal/controller/resume"
	"gascity/internal/event"
	"gascity/internal/plan"
	"gascity/internal/proc"
	"gascity/internal/session"
	"gascity/runtime"
)

// stop begins the end of an incarnation: of the one that was observed, and of no
// successor.
func (l *loop) stop(e *entry, a plan.Action) {
	p := e.place.provider
	victim := &reach.Victim{Name: e.rec.Session, Token: e.rec.Token, Seen: e.seen, Tree: e.tree}
	if e.order == plan.OrderKill {
		e.order = plan.OrderNone
	}
	l.c.emit(event.SessionStopping, e, "a stop began", map[string]string{"reason": a.Reason})
	began := l.now()
	l.begin(e, jobStop, a.Verb, stopLimit, func(ctx context.Context) func() {
		r := victim.End(ctx, p)
		return func() { l.stopped(e, a, began, r) }
	})
}

func (l *loop) stopped(e *entry, a plan.Action, began time.Time, r reach.Ended) {
	e.tree = nil
	e.stops++
	e.last = client.StopResult{
		Session: e.rec.Session, Agent: e.rec.Agent, Processes: r.Processes, Survivors: r.Survivors,
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
	if began.Sub(e.rec.StartedAt) >= resume.Settles {
		e.rec.Conversation.Reached()
	}
	l.cleared(e, a)
	e.clearSenses()
	l.life(e, a.Reason)
	l.found(e, r.Look)
	l.c.emit(event.SessionStopped, e, "the session was ended", map[string]string{"reason": a.Reason, "processes": fmt.Sprint(r.Processes)})
	l.countEnd(e)
}

// cleared takes note of how an incarnation ended that was cleared away after it had
// ended by its own word.
func (l *loop) cleared(e *entry, a plan.Action) {
	end := e.sensing.ended
	if !a.Over || end == nil {
		return
	}
	e.rec.Exit = end.Exit
	if s := l.desired[e.rec.Key()]; s == nil || s.Config.Lifecycle != runtime.LifecycleOneShot || end.Crashed {
		l.fail(e, a.Reason)
	}
}

// stopFailed puts the next try off. A stale instance is no failure of the stop:
// somebody else has replaced it, and a look tells by what. Whoever asked is told.
func (l *loop) stopFailed(e *entry, r reach.Ended) {
	e.stale = true
	if errors.Is(r.Err, runtime.ErrStaleInstance) {
		e.last.Error = "nothing was ended: another incarnation has taken its place"
		return
	}
	e.tries++
	if r.Err != nil {
		e.stopFault = reach.Fault(r.Err)
	} else {
		e.stopFault = fmt.Sprintf("processes %v still run", r.Survivors)
	}
	e.last.Error = e.stopFault
	e.stopAt = l.now().Add(l.c.opts.Jitter(reach.Pause(e.tries)))
	l.c.emit(event.SessionStopFailed, e, "the stop failed: "+reach.FirstLine(e.stopFault),
		map[string]string{"error": e.stopFault, "survivors": strings.Trim(fmt.Sprint(r.Survivors), "[]")})
	l.countEnd(e)
}

// ending is the end of the city. It is in force before the first session is
// told, and from then on nothing is started.
type ending struct {
	stopAfter time.Time // sessions that still run then are stopped
	giveUp    time.Time // what cannot be observed by then is reported and left
	census    map[string]client.StopResult
	waiting   []func(client.Census, error)
	closing   bool // the servers of the providers are being ended
	stuck     bool // it is over, and something could not be ended
}

// beginEnd puts the end of the city into force.
func (l *loop) beginEnd() {
	now, settings := l.now(), l.settings()
	l.ending = &ending{
		stopAfter: now.Add(settings.Shutdown), giveUp: now.Add(settings.Shutdown + stopLimit + overdueAfter),
		census: map[string]client.StopResult{},
	}
	l.wakeAt(l.ending.giveUp)
	l.c.emit(event.ControllerStopping, nil, "the city ends", map[string]string{"scope": "city"})
	for _, p := range l.places {
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
		l.ending.census[e.rec.Session] = e.last
	}
}

// endCity interrupts what runs, and answers once nothing is left to do.
func (l *loop) endCity() {
	l.wakeAt(l.ending.giveUp)
	l.interruptAll()
	var left []*entry
	for _, e := range l.entries {
		if l.unsettled(e) {
			left = append(left, e)
		}
	}
	uncounted := l.uncounted()
	if (len(left) > 0 || len(uncounted) > 0) && l.now().Before(l.ending.giveUp) || l.ending.closing {
		return
	}
	for _, p := range uncounted {
		if slices.ContainsFunc(left, func(e *entry) bool { return e.place == p }) {
			continue // its sessions say it
		}
		l.ending.census["*"+p.selection] = client.StopResult{Session: "*", Error: fmt.Sprintf("the sessions of %s could not be counted: %s", p.selection, p.sight.Fault())}
	}
	for _, e := range left {
		l.ending.census[e.rec.Session] = client.StopResult{Session: e.rec.Session, Agent: e.rec.Agent, Error: l.whyLeft(e)}
	}
	census := account.Census(l.ending.census)
	l.ending.closing = true
	if !census.Clean {
		l.endedCity(census)
		return
	}
	l.closeServers(census)
}

// uncounted returns the places whose sessions have not been listed since the end
// began: there may be more than is known.
func (l *loop) uncounted() []*place {
	var out []*place
	for _, p := range l.places {
		if p.wanted || p.listing || p.opening || p.sight.Fault() != "" {
			out = append(out, p)
		}
	}
	return out
}

// unsettled reports whether an entry still keeps the city from its end.
func (l *loop) unsettled(e *entry) bool {
	switch {
	case e.job != nil && e.job.kind != jobLook:
		return true
	case e.owner == plan.OwnerOther:
		return false
	case e.owner == plan.OwnerUnknown && l.desired[e.rec.Key()] == nil:
		return false
	case e.tries >= stopTries:
		return false
	}
	return e.unknown() || e.stale || e.exists()
}

func (l *loop) whyLeft(e *entry) string {
	if e.job != nil {
		return fmt.Sprintf("its %s does not end", cmp.Or(string(e.job.verb), "interrupt"))
	}
	return cmp.Or(e.place.sight.To(e.rec.Session), e.blind, e.stopFault, e.action.Reason)
}

// interruptAll asks every running agent once to end by itself, and counts its
// processes while they are all there.
func (l *loop) interruptAll() {
	if !l.now().Before(l.ending.stopAfter) {
		return
	}
	busy := 0
	for _, e := range l.entries {
		if e.job != nil && e.job.kind == jobInterrupt && l.now().Before(e.job.overdue) {
			busy++
		}
	}
	for _, e := range l.entries {
		if e.tree != nil || e.job != nil || e.stale || !e.running() || e.owner != plan.OwnerUs || busy >= interruptsAtOnce {
			continue
		}
		busy++
		e.tree = []proc.Info{}
		p, name, token, seen := e.place.provider, e.rec.Session, e.rec.Token, e.seen
		l.begin(e, jobInterrupt, "", interruptLimit, func(ctx context.Context) func() {
			tree := reach.Tree(&seen)
			err := reach.Interrupt(ctx, p, name, token)
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
	for _, p := range l.places {
		if p.provider != nil {
			providers = append(providers, p.provider)
		}
	}
	l.spawn(stopLimit, func(context.Context) func() {
		err := reach.CloseServers(providers)
		return func() {
			if err != nil {
				l.c.opts.Logger.Warn("cannot end a provider's server", "error", err)
			}
			l.endedCity(census)
		}
	})
}

// endedCity answers who waits. Only a clean end ends the controller: else it
// stays, starts nothing, and can be told to stop again.
func (l *loop) endedCity(census client.Census) {
	waiting := l.ending.waiting
	l.ending.waiting = nil
	for _, answer := range waiting {
		answer(census, nil)
	}
	l.leaving, l.ending.stuck = l.leaving || census.Clean, !census.Clean
}
