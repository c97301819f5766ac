package controller

import (
	"context"
	"fmt"
	"time"

	"gascity/internal/controller/reach"
	"gascity/internal/event"
	"gascity/runtime"
)

// place is one runtime provider in use. Only the loop touches it.
type place struct {
	selection string
	provider  runtime.Provider // nil until it is open
	opening   bool

	streams bool // events are pushed: the patrol asks for one list only

	blind     string    // why nothing is known of any session here
	blinds    int       // failures in a row
	listing   bool      // a listing is under way
	listedAt  time.Time // when it began
	wanted    bool      // a listing is due
	listAfter time.Time // and not before this
	foreign   map[string]bool
	cold      bool // relaunch proved unsupported
}

// warm reports whether an agent can be relaunched here.
func (p *place) warm(name string) bool {
	if p.provider == nil || p.cold {
		return false
	}
	_, ok := runtime.As[runtime.RelaunchProvider](p.provider, name)
	return ok
}

// placeFor returns the place of a selection and begins to open it if it is new.
func (l *loop) placeFor(selection string) *place {
	p, ok := l.places[selection]
	if !ok {
		p = &place{selection: selection, blind: "its provider is being opened", foreign: map[string]bool{}}
		l.places[selection] = p
		l.open(p)
	}
	return p
}

func (l *loop) open(p *place) {
	if l.ctx == nil {
		return // not running yet
	}
	p.opening = true
	l.spawn(openLimit, func(ctx context.Context) func() {
		provider, err := l.c.opts.Provider(ctx, p.selection)
		return func() {
			p.opening = false
			if err != nil {
				l.setBlind(p, fmt.Sprintf("its provider cannot be opened: %v", err))
				return
			}
			p.provider = provider
			l.goAlong(func() { reach.Watch(l.ctx, provider, l.listener(p)) })
		}
	})
}

func (l *loop) listener(p *place) reach.Listener {
	return reach.Listener{
		Begun:  func() { l.send(func() { p.streams = true }) },
		Event:  func(ev runtime.Event) { l.send(func() { l.noticed(p, ev) }) },
		Broken: func() { l.send(func() { l.resync(p, false) }) },
	}
}

// resync looks at everything of the place again.
func (l *loop) resync(p *place, streams bool) {
	p.streams = streams
	p.wanted, l.dirty = true, true
	for _, e := range l.entries {
		if e.place == p {
			e.stale = true
			if e.running() && !e.sensing.deaf {
				l.sense(e)
			}
		}
	}
}

// setBlind notes that nothing is known of the place, and tries again later.
func (l *loop) setBlind(p *place, why string) {
	fresh := p.blinds == 0
	p.blind, p.blinds, p.wanted = why, p.blinds+1, true
	p.listAfter = l.now().Add(min(l.c.opts.Jitter(reach.Pause(p.blinds)), l.settings().Patrol))
	if fresh {
		l.c.emit(event.ControllerDegraded, nil, "the provider cannot be observed", map[string]string{"provider": p.selection, "error": why})
	}
}

// list begins one listing of the place if one is due.
func (l *loop) list(p *place) {
	now := l.now()
	if p.listing && now.Sub(p.listedAt) > lookLimit+overdueAfter && p.blind == "" {
		l.setBlind(p, "its sessions cannot be listed: no answer for "+now.Sub(p.listedAt).Round(time.Second).String())
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
	l.wakeAt(now.Add(lookLimit + overdueAfter + time.Millisecond))
	l.spawn(lookLimit, func(context.Context) func() {
		names, err := p.provider.ListRunning("")
		return func() { l.listed(p, names, err) }
	})
}

// listed compares a listing with what is known. It only ever causes looks.
func (l *loop) listed(p *place, names []string, err error) {
	p.listing = false
	if err != nil {
		l.setBlind(p, fmt.Sprintf("its sessions cannot be listed: %v", err))
		return
	}
	if p.blinds > 0 {
		l.c.emit(event.ControllerRecovered, nil, "the provider can be observed again", map[string]string{"provider": p.selection})
		l.resync(p, p.streams)
		p.wanted = false
	}
	p.blind, p.blinds = "", 0
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
		e := l.at(p, name)
		switch {
		case e == nil && !p.foreign[name]:
			l.add(p, name).stale = true
		case e != nil && !e.running():
			e.stale = true
		}
	}
	for name := range p.foreign {
		if !there[name] {
			delete(p.foreign, name)
		}
	}
	for _, e := range l.entries {
		if e.place == p && (!p.streams || e.running() && !there[e.rec.Session]) {
			e.stale = true
		}
	}
}

// noticed takes one event of a provider.
func (l *loop) noticed(p *place, ev runtime.Event) {
	if ev.Kind == runtime.EventResync {
		l.resync(p, true)
		return
	}
	e := l.at(p, ev.Session)
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
		e.sensing.senses.Heard(ev.Time)
		l.fade(e)
		if (e.running() || e.starting()) && !e.sensing.deaf {
			l.sense(e)
		}
	case runtime.EventTitle:
		e.seen.Title = ev.Text
		l.fade(e)
	case runtime.EventAttached:
		l.attached(e, ev.Attached)
	case runtime.EventStatus:
		l.c.emit(event.SessionStatus, e, "the agent reported its activity", map[string]string{"status": ev.Status})
		if e.running() {
			l.told(e, ev.Status)
		}
	default:
		e.stale = true
		e.lookAt = time.Time{}
		l.dirty = true
	}
}

func (l *loop) attached(e *entry, n int) {
	kind, text := event.SessionAttached, "a terminal was connected"
	if n < e.seen.Attached {
		kind, text = event.SessionDetached, "a terminal was disconnected"
		e.idleSince = l.now()
	}
	if n != e.seen.Attached {
		l.c.emit(kind, e, text, map[string]string{"attached": fmt.Sprint(n)})
	}
	e.seen.Attached = n
	l.edge(e)
}
