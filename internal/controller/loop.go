package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/controller/persist"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// loop is everything that changes. One goroutine owns it.
type loop struct {
	c      *Controller
	ctx    context.Context //nolint:containedctx // the life of the loop; ends every job and watch
	cancel context.CancelFunc
	wg     sync.WaitGroup // jobs and watches

	loaded    Loaded
	desired   map[session.Key]*plan.Session
	loadedAt  time.Time
	loadError string
	loading   bool
	reloads   []func(client.Done, error) // who waits for the next reading

	backends map[string]*backend
	entries  map[session.Key]*entry
	// the sessions that can be read
	sensible map[*entry]bool
	// the sessions with a change that concerns no other session
	edges map[*entry]bool
	// unpublished are the sessions that readers see as they were, since when at most
	unpublished   map[*entry]bool
	unpublishedAt time.Time
	// unannounced are the sessions whose activity is unknown and no event has said so yet
	unannounced map[*entry]bool
	actions     []plan.Action

	counts ops.Counts // of pools

	observing int // under way, counted again by each pass

	saver     *persist.Saver
	versions  uint64    // the newest version of a record
	frozen    string    // why the store cannot be relied on, empty if it can
	unread    string    // why the records could not be read, empty if they were
	recallAt  time.Time // no further try before this
	recalling bool

	ending  *ending // nil unless the city ends
	leaving bool    // the loop is to end

	waiters   []func() bool // called after each pass, dropped when true
	dirty     bool          // a pass is due
	wake      time.Time     // when to make a pass although nothing happened
	tick      time.Time     // when to turn without one
	startedAt time.Time
	jumpedAt  time.Time // when time last jumped; zero: it never did
	checked   time.Time // when the clock was checked last
}

// activityLag is how old the snapshot may be about output and titles.
const activityLag = 250 * time.Millisecond

func newLoop(c *Controller) *loop {
	l := &loop{
		c: c, desired: map[session.Key]*plan.Session{}, backends: map[string]*backend{}, entries: map[session.Key]*entry{}, sensible: map[*entry]bool{},
		edges: map[*entry]bool{}, unpublished: map[*entry]bool{}, unannounced: map[*entry]bool{},
		startedAt: c.opts.Now(), checked: c.opts.Now(), versions: 1,
	}
	l.saver = persist.New(c.opts.Records, c.opts.Now, func(key session.Key, version uint64, err error) {
		l.send(func() { l.stored(key, version, err) })
	})
	l.remember(c.start)
	l.applyConfig(c.first)
	return l
}

func (l *loop) now() time.Time     { return l.c.opts.Now() }
func (l *loop) settings() Settings { return l.loaded.Settings }

func (l *loop) run(ctx context.Context) error {
	l.ctx, l.cancel = context.WithCancel(ctx)
	defer l.cancel()
	l.c.emit(event.ControllerStarted, nil, "the controller took charge of the city",
		map[string]string{"version": l.c.opts.Version, "pid": strconv.Itoa(l.c.opts.PID)})
	saving, stopSaving := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSaving()
	go l.saver.Run(saving) // leave waits for it
	for _, p := range l.backends {
		l.open(p)
	}
	patrol := time.NewTicker(l.settings().Patrol)
	defer patrol.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !l.leaving {
		l.turn()
		if l.leaving {
			break
		}
		pause := l.pause()
		timer.Reset(pause)
		select {
		case f := <-l.c.calls:
			f(l)
			l.drain()
		case <-timer.C: // turn sees what is due
		case <-patrol.C: // a tick that was not received in time is dropped
			l.patrol()
			patrol.Reset(l.settings().Patrol)
		case <-ctx.Done():
			l.leaving = true
		}
		l.checkClock(pause)
	}
	return l.leave()
}

// turn makes the passes that are due, and keeps the snapshot young.
func (l *loop) turn() {
	l.dirty = l.c.storeChanged.Swap(false) || l.dirty || !l.wake.IsZero() && !l.now().Before(l.wake)
	if !l.dirty {
		l.processEdges()
	}
	for l.dirty && !l.leaving {
		l.dirty = false
		l.wake = time.Time{}
		l.pass()
		l.publish()
		l.answer()
	}
	l.tick = time.Time{}
	l.readSenses()
	l.refresh()
	l.announceUnknown()
}

// answer runs the waiters whose condition now holds. An answer may make others
// wait.
func (l *loop) answer() {
	waiting := l.waiters
	l.waiters = nil
	waiting = slices.DeleteFunc(waiting, func(done func() bool) bool { return done() })
	l.waiters = append(waiting, l.waiters...)
}

// drain takes what else has come, so that one pass answers for all of it.
func (l *loop) drain() {
	for range cap(l.c.calls) {
		select {
		case f := <-l.c.calls:
			f(l)
		default:
			return
		}
	}
}

// wakeAt asks for a pass at t at the latest. What is due already is the present
// pass's business.
func (l *loop) wakeAt(t time.Time) {
	if t.After(l.now()) && (l.wake.IsZero() || t.Before(l.wake)) {
		l.wake = t
	}
}

// tickAt asks for a turn at t at the latest, without a pass.
func (l *loop) tickAt(t time.Time) {
	if l.tick.IsZero() || t.Before(l.tick) {
		l.tick = t
	}
}

// pause returns how long nothing needs to be done by itself.
func (l *loop) pause() time.Duration {
	pause := 24 * time.Hour
	for _, due := range []time.Time{l.wake, l.tick} {
		if !due.IsZero() {
			pause = min(pause, due.Sub(l.now()))
		}
	}
	return max(0, pause)
}

// patrol ensures that a lost event costs no more than one interval.
func (l *loop) patrol() {
	l.countPools()
	l.dirty = true
	for _, p := range l.backends {
		p.wanted = true
	}
}

// leave ends what the loop has begun; sessions go on.
func (l *loop) leave() error {
	l.cancel()
	done := make(chan struct{})
	go func() { l.wg.Wait(); close(done) }()
	limit := time.NewTimer(leaveLimit)
	defer limit.Stop()
	for {
		select {
		case f := <-l.c.calls:
			f(l)
			continue
		case <-done:
			l.drain()
			return l.flushRecords()
		case <-limit.C:
			return errors.New("the controller ended with work that would not: " + strings.Join(l.busy(), ", "))
		}
	}
}

// flushRecords writes what is left and answers who waits for it.
func (l *loop) flushRecords() error {
	l.release()
	for _, e := range l.entries {
		l.save(e)
	}
	left := make(chan int, 1)
	go func() { left <- l.saver.Finish(persist.Limit) }()
	for {
		select {
		case f := <-l.c.calls:
			f(l)
		case n := <-left:
			l.drain()
			l.answer()
			l.c.emit(event.ControllerStopped, nil, "the controller ended", nil)
			if n > 0 {
				return fmt.Errorf("the controller ended before the store took %d of its records", n)
			}
			return nil
		}
	}
}

func (l *loop) busy() []string {
	var names []string
	for _, e := range l.entries {
		if e.job != nil {
			names = append(names, fmt.Sprintf("%s of %s", e.job.verb, e.rec.Session))
		}
	}
	slices.Sort(names)
	return names
}

// runTracked runs f in a goroutine that the loop waits for when it ends.
func (l *loop) runTracked(f func()) { l.wg.Go(f) }

// spawn runs work outside the loop under a deadline, and what it returns inside.
func (l *loop) spawn(limit time.Duration, work func(ctx context.Context) func()) context.CancelFunc {
	return l.aside(limit, func(ctx context.Context) func() {
		fold := work(ctx)
		return func() {
			fold()
			l.dirty = true
		}
	})
}

// aside is spawn for what need not lead to a pass.
func (l *loop) aside(limit time.Duration, work func(ctx context.Context) func()) context.CancelFunc {
	ctx, cancel := context.WithTimeoutCause(l.ctx, limit, fmt.Errorf("not done within %v", limit))
	l.runTracked(func() {
		defer cancel()
		fold := work(ctx)
		l.send(fold)
	})
	return cancel
}

// send runs f in the loop. It gives up only when the loop has ended for good.
func (l *loop) send(f func()) {
	select {
	case l.c.calls <- func(*loop) { f() }:
	case <-l.c.ended:
	}
}

// at returns the entry of a session at a place, nil if there is none.
func (l *loop) at(p *backend, name string) *entry {
	return l.entries[session.Key{Provider: p.selection, Session: name}]
}

// add makes an entry for a session that is not known yet.
func (l *loop) add(p *backend, name string) *entry {
	e := &entry{backend: p, stale: true, versions: &l.versions, rec: session.Record{Session: name, Provider: p.selection}}
	e.seen.Attached = -1
	l.entries[e.rec.Key()] = e
	return e
}
