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
	"gascity/internal/config"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// loop is the mutable state of the controller. Only the goroutine of run accesses it.
type loop struct {
	c      *Controller
	ctx    context.Context //nolint:containedctx // the loop's context; its end cancels every job and watch
	cancel context.CancelFunc
	wg     sync.WaitGroup // jobs and watches

	loaded    Loaded
	desired   map[session.Key]*plan.Session
	loadedAt  time.Time
	loadError string
	loading   bool
	reloads   []func(client.Done, error) // answers to call after the next load

	backends map[string]*backend
	entries  map[session.Key]*entry
	// the sessions with a due or running read of the agent's channels
	sensible map[*entry]bool
	// the sessions with a change that affects no other session
	edges map[*entry]bool
	// unpublished are the sessions that changed after the last publication; unpublishedAt is the
	// time of the first of these changes
	unpublished   map[*entry]bool
	unpublishedAt time.Time
	// unannounced are the sessions whose activity is unknown and for which no event was emitted yet
	unannounced map[*entry]bool
	actions     []plan.Action

	counts ops.Counts // of pools

	observing int // running observations, counted again in each pass

	saver     *recordSaver
	versions  uint64    // the newest version of a record
	frozen    string    // why the store cannot be relied on, empty if it can
	unread    string    // why the records could not be read, empty if they were
	recallAt  time.Time // no further attempt before this time
	recalling bool

	ending  *ending // nil unless the city is being stopped
	exiting bool    // the loop must return
	closing bool    // shutDown waits for the jobs and watches; no other one starts

	waiters   []func() bool // called after each pass; removed when they return true
	dirty     bool          // a pass is due
	wake      time.Time     // time of the next pass even if nothing happens
	tick      time.Time     // time of the next turn without a pass
	startedAt time.Time
	jumpedAt  time.Time // when the clock last jumped; zero: never
	checked   time.Time // when the clock was checked last
}

// activityLag is the maximum delay with which the snapshot shows output and titles.
const activityLag = 250 * time.Millisecond

// newLoop returns a loop with the stored records and the first configuration.
func newLoop(c *Controller) *loop {
	l := &loop{
		c: c, desired: map[session.Key]*plan.Session{}, backends: map[string]*backend{}, entries: map[session.Key]*entry{}, sensible: map[*entry]bool{},
		edges: map[*entry]bool{}, unpublished: map[*entry]bool{}, unannounced: map[*entry]bool{},
		startedAt: c.opts.Now(), checked: c.opts.Now(), versions: 1, counts: ops.NewCounts(),
	}
	l.saver = newRecordSaver(c.opts.Records, c.opts.Now, func(key session.Key, version uint64, err error) {
		l.send(func() { l.stored(key, version, err) })
	})
	l.loadRecords(c.start)
	l.applyConfig(c.first)
	return l
}

// now returns the current time; tests set another clock.
func (l *loop) now() time.Time { return l.c.opts.Now() }

// settings returns the settings of the configuration that is loaded.
func (l *loop) settings() *config.Daemon { return &l.loaded.Settings }

// run runs the loop until ctx ends or the controller is asked to exit, and then shuts it down.
func (l *loop) run(ctx context.Context) error {
	l.ctx, l.cancel = context.WithCancel(ctx)
	defer l.cancel()
	l.emit(event.ControllerStarted, nil, "the controller started",
		map[string]string{"version": l.c.opts.Version, "pid": strconv.Itoa(l.c.opts.PID)})
	saving, stopSaving := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSaving()
	go l.saver.Run(saving) // shutDown waits for it
	for _, p := range l.backends {
		l.open(p)
	}
	patrol := time.NewTicker(l.settings().PatrolInterval)
	defer patrol.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !l.exiting {
		l.turn()
		if l.exiting {
			break
		}
		pause := l.pause()
		timer.Reset(pause)
		select {
		case f := <-l.c.calls:
			f(l)
			l.drain()
		case <-timer.C: // turn handles due work
		case <-patrol.C: // a tick that was not received in time is dropped
			l.patrol()
			patrol.Reset(l.settings().PatrolInterval)
		case <-ctx.Done():
			l.exiting = true
		}
		l.checkClock(pause)
	}
	return l.shutDown()
}

// turn is one round of the loop after a message or a timer: it makes the passes that are due, reads
// the agents' channels that are due, and updates the published snapshot.
func (l *loop) turn() {
	l.dirty = l.c.storeChanged.Swap(false) || l.dirty || !l.wake.IsZero() && !l.now().Before(l.wake)
	if !l.dirty {
		l.processEdges()
	}
	for l.dirty && !l.exiting {
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

// answer calls every waiter and removes those that return true, because their condition was met. A
// waiter may add new waiters; they are called after the next pass.
func (l *loop) answer() {
	waiting := l.waiters
	l.waiters = nil
	waiting = slices.DeleteFunc(waiting, func(done func() bool) bool { return done() })
	l.waiters = append(waiting, l.waiters...)
}

// drain runs the functions that have already been sent to the loop, so that one pass handles all of
// them.
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

// wakeAt requests a pass at t at the latest. A time that is not in the future is ignored: the
// current pass handles it.
func (l *loop) wakeAt(t time.Time) {
	if t.After(l.now()) && (l.wake.IsZero() || t.Before(l.wake)) {
		l.wake = t
	}
}

// tickAt requests a round of the loop, see [loop.turn], at t at the latest. Unlike [loop.wakeAt],
// it requests no pass.
func (l *loop) tickAt(t time.Time) {
	if l.tick.IsZero() || t.Before(l.tick) {
		l.tick = t
	}
}

// pause returns the time until the next scheduled pass or turn.
func (l *loop) pause() time.Duration {
	pause := 24 * time.Hour
	for _, due := range []time.Time{l.wake, l.tick} {
		if !due.IsZero() {
			pause = min(pause, due.Sub(l.now()))
		}
	}
	return max(0, pause)
}

// patrol runs at a fixed interval. It requests a listing of every provider and the checks of the
// pools. So a lost event causes a delay of at most one interval.
func (l *loop) patrol() {
	l.countPools()
	l.dirty = true
	for _, p := range l.backends {
		p.wanted = true
	}
}

// shutDown stops the loop's own jobs. Sessions keep running. A function that still runs in the loop
// starts no further job.
func (l *loop) shutDown() error {
	l.closing = true
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
			return errors.New("the controller stopped, but these jobs did not finish: " + strings.Join(l.busy(), ", "))
		}
	}
}

// flushRecords writes the records that are not saved yet before the loop returns, and answers the
// requests that wait for them.
func (l *loop) flushRecords() error {
	for _, e := range l.entries {
		l.unclaim(e)
		l.save(e)
	}
	left := make(chan int, 1)
	go func() { left <- l.saver.Finish() }()
	for {
		select {
		case f := <-l.c.calls:
			f(l)
		case n := <-left:
			l.drain()
			l.answer()
			l.emit(event.ControllerStopped, nil, "the controller stopped", nil)
			if n > 0 {
				return fmt.Errorf("the controller stopped, but the store did not save %d of its records", n)
			}
			return nil
		}
	}
}

// busy returns the jobs that still run, each as "VERB of SESSION", such as "start of
// gc-city-coder"; sorted.
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

// runTracked runs f in a goroutine. shutDown waits for that goroutine. After shutDown has begun to
// wait, runTracked does nothing and returns false.
func (l *loop) runTracked(f func()) bool {
	if l.closing {
		return false
	}
	l.wg.Go(f)
	return true
}

// spawn runs work in its own goroutine with a time limit. The function that work returns then runs
// in the loop, and a pass follows. spawn returns a function that cancels the context of work. After
// shutDown has begun, work does not run.
func (l *loop) spawn(limit time.Duration, work func(ctx context.Context) func()) context.CancelFunc {
	return l.spawnWithoutPass(limit, func(ctx context.Context) func() {
		fold := work(ctx)
		return func() {
			fold()
			l.dirty = true
		}
	})
}

// spawnWithoutPass does the same as [loop.spawn], but requests no pass when the work is done.
func (l *loop) spawnWithoutPass(limit time.Duration, work func(ctx context.Context) func()) context.CancelFunc {
	ctx, cancel := context.WithTimeoutCause(l.ctx, limit, fmt.Errorf("not done within %v", limit))
	if !l.runTracked(func() {
		defer cancel()
		fold := work(ctx)
		l.send(fold)
	}) {
		cancel()
	}
	return cancel
}

// send runs f in the loop. It does nothing if Run has returned.
func (l *loop) send(f func()) {
	l.c.post(func(*loop) { f() })
}

// entryOf returns the entry of the session with this name at this provider, or nil if there is
// none.
func (l *loop) entryOf(p *backend, name string) *entry {
	return l.entries[session.Key{Provider: p.selection, Session: name}]
}

// add creates the entry of a session that the loop does not know yet. The session is observed in
// the next pass.
func (l *loop) add(p *backend, name string) *entry {
	e := &entry{backend: p, stale: true, versions: &l.versions, rec: session.Record{Session: name, Provider: p.selection}}
	e.seen.Attached = -1
	l.entries[e.rec.Key()] = e
	return e
}
