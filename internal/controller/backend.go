package controller

import (
	"context"
	"fmt"
	"time"

	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/runtime"
)

// backend is one runtime provider in use. Only the loop touches it.
type backend struct {
	selection string
	provider  runtime.Provider // nil until it is open
	opening   bool

	health  ops.ListingHealth
	streams bool // the provider pushes events: a patrol only lists its sessions

	listing        bool      // a listing runs now
	listedAt       time.Time // when the last listing began
	wanted         bool      // a listing is due
	listAfter      time.Time // no listing before this time
	foreign        map[string]bool
	counted        bool // this controller has received a complete listing
	lostAll        bool // the first complete listing had none of the sessions that the records call running
	cannotRelaunch bool // a relaunch failed as unsupported
}

// canRelaunch reports whether this provider can start the agent of a session again without a new session.
func (p *backend) canRelaunch(name string) bool {
	if p.provider == nil || p.cannotRelaunch {
		return false
	}
	_, ok := runtime.As[runtime.RelaunchProvider](p.provider, name)
	return ok
}

// closed returns, for each runtime provider that can start no session, the reason.
func (l *loop) closed() map[string]string {
	out := map[string]string{}
	for _, p := range l.backends {
		if why := p.health.Closed(); why != "" {
			out[p.selection] = why
		}
	}
	return out
}

// backendFor returns the backend of a selection, which is the name of a runtime provider in city.toml, such as "tmux". If the
// backend is new, backendFor begins to open it.
func (l *loop) backendFor(selection string) *backend {
	p, ok := l.backends[selection]
	if !ok {
		p = &backend{selection: selection, health: ops.Unopened(), foreign: map[string]bool{}}
		l.backends[selection] = p
		l.open(p)
	}
	return p
}

// open begins to open the provider of a backend. When it is open, its events are watched.
func (l *loop) open(p *backend) {
	if l.ctx == nil {
		return // not running yet
	}
	p.opening = true
	l.spawn(openLimit, func(ctx context.Context) func() {
		provider, err := l.c.opts.Provider(ctx, p.selection)
		if err == nil {
			if err := runtime.ConfigureServer(provider); err != nil { // the server may be one of an earlier release
				l.c.opts.Logger.Warn("cannot apply the settings to a running server", "provider", p.selection, "error", err)
			}
		}
		return func() {
			p.opening = false
			if err != nil {
				p.health.NotOpened(err)
				l.listingFailed(p)
				return
			}
			p.provider = provider
			l.runTracked(func() { ops.Watch(l.ctx, provider, l.listener(p)) })
		}
	})
}

// listener returns the functions that handle the events of a provider in the loop.
func (l *loop) listener(p *backend) ops.Listener {
	return ops.Listener{
		Begun:  func() { l.send(func() { p.streams = true }) },
		Event:  func(ev runtime.Event) { l.send(func() { l.handleEvent(p, ev) }) },
		Broken: func() { l.send(func() { l.resync(p, false) }) },
	}
}

// resync requests a new listing of the provider and a new observation of each of its sessions, because events may have been lost.
// streams is whether the provider pushes events from now on.
func (l *loop) resync(p *backend, streams bool) {
	p.streams = streams
	p.wanted, l.dirty = true, true
	for _, e := range l.entries {
		if e.backend == p {
			e.stale = true
			if e.running() && !e.sensing.unsupported {
				l.sense(e)
			}
		}
	}
}

// listingFailed records that the provider failed to list its sessions, and schedules another listing.
func (l *loop) listingFailed(p *backend) {
	p.wanted = true
	p.listAfter = l.now().Add(min(l.c.opts.Jitter(ops.Pause(p.health.Failures)), l.settings().PatrolInterval))
	if p.health.Failures == 1 {
		l.emit(event.ControllerDegraded, nil, "the provider cannot be observed", map[string]string{"provider": p.selection, "error": p.health.Fault()})
	}
}

// list begins a listing of the provider's sessions if one is due.
func (l *loop) list(p *backend) {
	now := l.now()
	if p.listing && now.Sub(p.listedAt) > observeLimit+overdueAfter && !p.health.IsUnknown() {
		p.health.MarkUnknown("its sessions cannot be listed: no answer for " + now.Sub(p.listedAt).Round(time.Second).String())
		l.listingFailed(p)
	}
	switch {
	case !p.wanted, p.listing, p.opening:
		return
	case now.Before(p.listAfter):
		l.wakeAt(p.listAfter)
		return
	}
	if p.provider == nil {
		l.open(p)
		return
	}
	p.wanted, p.listing, p.listedAt = false, true, now
	l.wakeAt(now.Add(observeLimit + overdueAfter + time.Millisecond))
	l.spawn(observeLimit, func(ctx context.Context) func() {
		listing := ops.List(ctx, p.provider)
		return func() { l.applyListing(p, listing) }
	})
}

// applyListing handles the result of a listing: it requests an observation of each session for which the listing is new. A name
// in a partial listing certainly exists; a name that is missing from it may exist too.
func (l *loop) applyListing(p *backend, listing ops.Listing) {
	p.listing = false
	if p.health.Update(&listing) {
		l.emit(event.ControllerRecovered, nil, "the provider can be observed again", map[string]string{"provider": p.selection})
		l.resync(p, p.streams)
		p.wanted = false
	}
	if p.health.Failures > 0 {
		l.listingFailed(p)
	}
	if p.health.IsUnknown() {
		return
	}
	there := make(map[string]bool, len(listing.Names))
	for _, name := range listing.Names {
		there[name] = true
	}
	if !p.counted && !listing.Partial {
		p.counted, p.lostAll = true, !l.hasRunningSession(p, there)
	}
	for name := range there {
		e := l.entryOf(p, name)
		switch {
		case e == nil && !p.foreign[name]:
			l.add(p, name).stale = true
		case e != nil && !e.running():
			e.stale = true
		}
	}
	for name := range p.foreign {
		if !there[name] && !listing.Partial {
			delete(p.foreign, name)
		}
	}
	for _, e := range l.entries {
		if e.backend == p && (!p.streams || e.running() && !there[e.rec.Session]) {
			e.stale = true
		}
	}
}

// hasRunningSession reports whether listing, a set of session names, contains a session of the provider that runs according to its
// record. A session that is claimed, but not started yet, does not count.
func (l *loop) hasRunningSession(p *backend, listing map[string]bool) bool {
	for _, e := range l.entries {
		if e.backend == p && e.rec.Running && !e.claimed && listing[e.rec.Session] {
			return true
		}
	}
	return false
}

// handleEvent processes one event that a provider has pushed.
func (l *loop) handleEvent(p *backend, ev runtime.Event) {
	if ev.Kind == runtime.EventResync {
		l.resync(p, true)
		return
	}
	if ev.Kind == runtime.EventServerLost {
		l.emit(event.ServerLost, nil, "the "+p.selection+" server exited, and all its sessions with it; gc starts a new server with the next session", map[string]string{"provider": p.selection, "error": ev.Text})
	}
	e := l.entryOf(p, ev.Session)
	if e == nil {
		if ev.Kind == runtime.EventStarted {
			delete(p.foreign, ev.Session)
			p.wanted, l.dirty = true, true
		}
		return
	}
	if e.starting() {
		e.job.attempt.Moved(l.now())
	}
	switch ev.Kind {
	case runtime.EventOutput:
		e.seen.LastActivity = ev.Time
		e.sensing.senses.RecordOutput(ev.Time)
		l.markUnpublished(e)
		if (e.running() || e.starting()) && !e.sensing.unsupported {
			l.sense(e)
		}
	case runtime.EventTitle:
		e.seen.Title = ev.Text
		l.markUnpublished(e)
	case runtime.EventAttached:
		l.attached(e, ev.Attached)
	case runtime.EventStatus:
		l.emit(event.SessionStatus, e, "the agent reported its activity", map[string]string{"status": ev.Status})
		if e.running() {
			l.handleStatus(e, ev.Status)
		}
	default:
		e.stale = true
		e.observeAt = time.Time{}
		l.dirty = true
	}
}

// attached records how many terminals are attached to a session, and emits an event if the number
// has changed.
func (l *loop) attached(e *entry, n int) {
	kind, text := event.SessionAttached, "a terminal was connected"
	if n < e.seen.Attached {
		kind, text = event.SessionDetached, "a terminal was disconnected"
		e.idleSince = l.now()
	}
	if n != e.seen.Attached {
		l.emit(kind, e, text, map[string]string{"attached": fmt.Sprint(n)})
	}
	e.seen.Attached = n
	l.markChanged(e)
}
