package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"gascity/internal/driver/script"
	"gascity/runtime"
)

// listingCache shares one listing among callers that observe a session at about the same time. So
// 200 observations need one run of the script. A listing proves only that a session exists. For a
// session that is not in the listing, the script is called.
type listingCache struct {
	p *Provider

	mu         sync.Mutex // guards the fields below
	last       *listing
	pending    *listingCall
	epoch      int  // incremented by each operation that may change the sessions
	cannotList bool // the script does not have the operation
}

// listing is the result of one run.
type listing struct {
	at    time.Time     // start of the run
	took  time.Duration // duration of the run
	found map[string]runtime.Observation
}

// listingCall is a running listing.
type listingCall struct {
	epoch int
	done  chan struct{}
	found *listing // valid after done is closed; nil if the run failed
}

// find returns the observation of the session from a fresh listing. It makes a listing or waits for
// a running one if necessary. ok is false if the listing does not prove that the session runs.
func (l *listingCache) find(ctx context.Context, name string) (obs runtime.Observation, ok bool) {
	l.mu.Lock()
	if l.cannotList || l.p.cfg.Fresh < 0 || runtime.ValidateName(name) != nil {
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

// recent reports whether the last listing contains the session and is recent enough. A caller uses
// it only if it gets an error later in case the session has stopped since. A slow listing counts as
// recent for longer, so that it is not repeated for each such caller.
func (l *listingCache) recent(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.p.cfg.Fresh < 0 || time.Since(l.last.at) >= l.p.cfg.Fresh+recentFor*l.last.took {
		return false
	}
	obs, ok := l.last.found[name]
	return ok && obs.Session == runtime.Alive
}

// recentFor is how long a listing counts as recent, as a multiple of its duration.
const recentFor = 4

// refresh calls the script for a listing that several callers wait for, with the ctx of one of them. If this ctx ends, the
// other callers call the script themselves.
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

// list returns the running sessions by name. A script that declares observe reports complete observations; from another
// script only the names are known, so each session counts as alive. A partial list is not an error.
func (l *listingCache) list(ctx context.Context, now time.Time) (map[string]runtime.Observation, error) {
	if l.p.caps.Has(script.CapObserve) {
		return l.observeAll(ctx, now)
	}
	names, err := l.p.list(ctx, "")
	if _, partial := errors.AsType[*runtime.PartialListError](err); err != nil && !partial {
		return nil, err
	}
	found := make(map[string]runtime.Observation, len(names))
	for _, name := range names {
		found[name] = runtime.Observation{Session: runtime.Alive, Agent: runtime.Alive, Attached: -1, At: now}
	}
	return found, nil
}

// observeAll reads the observations of all sessions. It ignores lines that are not an observation.
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

// invalidate discards all listings that began before this call.
func (l *listingCache) invalidate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch++
	l.last = nil
}
