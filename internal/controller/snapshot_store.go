package controller

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// publishedSession is the published state of one session. It is immutable.
type publishedSession struct {
	explain.Case
	Provider runtime.Provider // nil if it is not open
	Config   *runtime.Config  // nil if the session is not configured
	Running  bool
	Snapshot session.Snapshot
	Attempt  *ops.Attempt // the running start; nil: none
}

// agent returns the session in the form of the control API, with the current progress of a running
// start.
func (t *publishedSession) agent() client.Agent {
	out := t.Agent
	if words := t.Attempt.Progress(); words != "" {
		out.Reason = string(plan.VerbStart) + " is under way: " + words
	}
	return out
}

// publishedCity is the published state of the city besides its sessions. It is immutable.
type publishedCity struct {
	Status  client.Status // without agents
	Config  client.Config
	Account explain.City
	Pools   []plan.Pool // from the current configuration
}

// snapshotStore holds the published state. It is safe for concurrent readers and one writer. Make one
// with newSnapshotStore.
type snapshotStore struct {
	// Changed is called by the writer for each session whose summary changed. Nil: no call.
	Changed func(session string)

	now       atomic.Pointer[cityState]
	renewed   broadcast                      // raised by each Publish and Renew
	synced    atomic.Bool                    // every session was known at the last check
	summaries map[session.Key]sessionSummary // only for the writer: the summary reported last
}

// cityState is the city at the last Publish. Its slots may be newer.
type cityState struct {
	city  publishedCity
	order []*sessionSlot // each session once, in the order of the plan
	keys  map[session.Key]*sessionSlot
	names map[string]*sessionSlot // by agent and by session
}

type sessionSlot = atomic.Pointer[publishedSession]

// broadcast wakes any number of waiting goroutines. The zero value is ready for use. Raise is cheap while nothing waits.
type broadcast struct {
	mu     sync.Mutex
	raised chan struct{} // guarded by mu; nil: nothing waits
}

// Wait returns a channel that is closed at the next Raise.
func (b *broadcast) Wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.raised == nil {
		b.raised = make(chan struct{})
	}
	return b.raised
}

// Raise closes the channels that Wait has returned.
func (b *broadcast) Raise() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.raised != nil {
		close(b.raised)
		b.raised = nil
	}
}

// newSnapshotStore returns the store of an empty city.
func newSnapshotStore() *snapshotStore {
	b := &snapshotStore{summaries: map[session.Key]sessionSummary{}}
	b.now.Store(&cityState{})
	return b
}

// Publish replaces the published state of the city and of all its sessions.
func (b *snapshotStore) Publish(city publishedCity, targets []*publishedSession) {
	p := &cityState{
		city: city, order: make([]*sessionSlot, 0, len(targets)),
		keys: make(map[session.Key]*sessionSlot, len(targets)), names: make(map[string]*sessionSlot, 2*len(targets)),
	}
	for _, t := range targets {
		s := &sessionSlot{}
		s.Store(t)
		p.order = append(p.order, s)
		p.keys[t.Record.Key()] = s
		p.names[t.Action.Session] = s
		if agent := t.Action.Agent; agent != "" && (p.names[agent] == nil || t.Action.Desired != client.DesiredAbsent) {
			p.names[agent] = s
		}
	}
	before := b.now.Swap(p)
	b.renewed.Raise()
	for _, t := range targets {
		b.notify(t)
	}
	b.synced.Store(b.Changed != nil && p.hasSynced())
	for key := range before.keys {
		if p.keys[key] == nil && b.Changed != nil {
			delete(b.summaries, key)
			b.Changed(key.Session)
		}
	}
}

// Renew publishes the new state t of one session. A session that no [snapshotStore.Publish] has published yet is ignored; the
// next Publish adds it.
func (b *snapshotStore) Renew(at time.Time, t *publishedSession) {
	before := b.now.Load()
	s := before.keys[t.Record.Key()]
	if s == nil {
		return
	}
	s.Store(t)
	p := *before
	p.city.Status.At, p.city.Account.At = at, at
	b.now.Store(&p)
	b.renewed.Raise()
	b.notify(t)
	if b.Changed != nil && !b.synced.Load() {
		b.synced.Store(p.hasSynced())
	}
}

// hasSynced reports whether the state of every session is known.
func (p *cityState) hasSynced() bool {
	return !slices.ContainsFunc(p.order, func(s *sessionSlot) bool { return s.Load().Snapshot.Unknown != "" })
}

// notify calls Changed for a session whose summary differs from the one of the last call.
func (b *snapshotStore) notify(t *publishedSession) {
	if b.Changed == nil {
		return
	}
	key, gist := t.Record.Key(), summaryOf(&t.Snapshot)
	if was, known := b.summaries[key]; known && was == gist {
		return
	}
	b.summaries[key] = gist
	b.Changed(key.Session)
}

// City returns the state of the city besides the sessions.
func (b *snapshotStore) City() publishedCity { return b.now.Load().city }

// Targets returns every session, in the order of the plan.
func (b *snapshotStore) Targets() []*publishedSession {
	p := b.now.Load()
	out := make([]*publishedSession, 0, len(p.order))
	for _, s := range p.order {
		out = append(out, s.Load())
	}
	return out
}

// Find returns a session by its name or its agent's name.
func (b *snapshotStore) Find(name string) (*publishedSession, error) {
	if s := b.now.Load().names[name]; s != nil {
		return s.Load(), nil
	}
	return nil, newNotFoundError(name, b.City().Pools)
}

// newNotFoundError returns the error for a name that no agent and no session has. If it is the name
// of a pool, the error lists the pool's members.
func newNotFoundError(name string, pools []plan.Pool) error {
	for _, pool := range pools {
		if pool.Agent == name {
			return fmt.Errorf("%w: %q is a pool; name one of its members: %s", client.ErrNotFound, name, strings.Join(pool.Members, ", "))
		}
	}
	return fmt.Errorf("%w: no agent or session is called %q; gc status lists them", client.ErrNotFound, name)
}
