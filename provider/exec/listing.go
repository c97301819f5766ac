package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"gascity/internal/driver/script"
	"gascity/runtime"
)

// listingCache shares one listing among everybody who looks at a session at about the same
// time: two hundred looks are one run of the script. A listing proves presence only;
// of a session that is not in it the script is asked.
type listingCache struct {
	p *Provider

	mu         sync.Mutex // guards the rest
	last       *listing
	pending    *listingCall
	epoch      int                 // grows with everything that may have changed the sessions
	seen       map[string]struct{} // sessions that are known to exist
	cannotList bool                // the script cannot list
}

// listing is what one run has found.
type listing struct {
	at    time.Time     // when it began
	took  time.Duration // until it was there
	found map[string]runtime.Observation
}

// listingCall is a run that is under way.
type listingCall struct {
	epoch int
	done  chan struct{}
	found *listing // valid once done; nil if it failed
}

// find searches for the session in a listing that is fresh, else in one that it waits
// for. It has ok false if the listing does not prove that the session runs.
func (l *listingCache) find(ctx context.Context, name string) (obs runtime.Observation, ok bool) {
	l.mu.Lock()
	if l.cannotList || l.p.cfg.Fresh < 0 {
		l.mu.Unlock()
		return obs, false
	}
	if l.last != nil && time.Since(l.last.at) < l.p.cfg.Fresh {
		obs, ok = l.last.found[name]
		l.mu.Unlock()
		return obs, ok
	}
	f := l.pending
	if f == nil || f.epoch != l.epoch {
		f = &listingCall{epoch: l.epoch, done: make(chan struct{})}
		l.pending = f
		l.mu.Unlock()
		l.refresh(ctx, f)
	} else {
		l.mu.Unlock()
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return obs, false
	}
	if f.found == nil {
		return obs, false
	}
	obs, ok = f.found.found[name]
	return obs, ok
}

// recent reports whether the last listing has the session, and is fresh enough for a caller
// that gets an error later if the session has gone since. One that takes seconds is not made
// for each of these.
func (l *listingCache) recent(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.p.cfg.Fresh < 0 || time.Since(l.last.at) >= l.p.cfg.Fresh+recentFor*l.last.took {
		return false
	}
	obs, ok := l.last.found[name]
	return ok && obs.Session == runtime.Alive
}

// recentFor is for how many times of its making a listing is recent.
const recentFor = 4

// refresh makes the listing, in the caller's time: if that is cut off, those who wait ask
// for themselves.
func (l *listingCache) refresh(ctx context.Context, f *listingCall) {
	defer close(f.done)
	began := time.Now()
	found, err := l.list(ctx, began)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending == f {
		l.pending = nil
	}
	if err != nil {
		l.cannotList = l.cannotList || isMissing(err)
		return
	}
	f.found = &listing{at: began, took: time.Since(began), found: found}
	if f.epoch == l.epoch {
		l.last = f.found
	}
}

func (l *listingCache) list(ctx context.Context, now time.Time) (map[string]runtime.Observation, error) {
	if l.p.caps.Has(script.CapObserve) {
		return l.observeAll(ctx, now)
	}
	names, err := l.p.list(ctx, "")
	var partial *runtime.PartialListError
	if err != nil && !errors.As(err, &partial) {
		return nil, err
	}
	found := make(map[string]runtime.Observation, len(names))
	for _, name := range names {
		found[name] = runtime.Observation{Session: runtime.Alive, Agent: runtime.Alive, Attached: -1, At: now}
	}
	return found, nil
}

// observeAll reads the observations of all sessions. A line that is none is left out.
func (l *listingCache) observeAll(ctx context.Context, began time.Time) (map[string]runtime.Observation, error) {
	r, err := l.p.call(ctx, request{op: script.OpObserveAll})
	if err != nil {
		return nil, err
	}
	ended, found := time.Now(), map[string]runtime.Observation{}
	for line := range bytes.Lines(r.out) {
		var doc script.Observation
		doc.Attached = -1
		if json.Unmarshal(line, &doc) == nil && doc.Session == runtime.Alive && runtime.ValidateName(doc.Name) == nil {
			found[doc.Name] = l.p.clock.adjust(doc.Seen(), began, ended)
		}
	}
	return found, nil
}

// invalidate makes every listing until now worthless.
func (l *listingCache) invalidate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch++
	l.last = nil
}

// add remembers a session that exists.
func (l *listingCache) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]struct{}{}
	}
	l.seen[name] = struct{}{}
}

// remove drops a session that does not exist.
func (l *listingCache) remove(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, name)
}

// names returns the sessions that are remembered, sorted.
func (l *listingCache) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.seen))
}
