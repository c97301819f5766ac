package shim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"gascity/internal/retry"
	"gascity/internal/statedir"
)

// SessionEvent is an [Event] of one session, as [Fleet.Watch] reports it.
type SessionEvent struct {
	Name string
	Event
}

// The kinds of events that only [Fleet.Watch] reports.
const (
	EventAppeared EventKind = "appeared" // a session was found
	EventGone     EventKind = "gone"     // the session was stopped, or its shim was killed; see Fleet.Observe
	EventResync   EventKind = "resync"   // events may have been lost; observe all sessions again
)

// Watch calls the function each for every event of any session, including sessions that other processes start, until ctx ends. It makes one
// call at a time. It needs one open connection for each session and no polling. A new instance of a known session may report its
// state before it appears, and its exit may be a part of its state.
func (f *Fleet) Watch(ctx context.Context, each func(SessionEvent)) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer notify.Close()
	w := &watch{fleet: f, each: each, notify: notify, followed: map[statedir.Folder]bool{}, known: map[statedir.Folder]Record{}, fresh: map[statedir.Folder]bool{}}
	defer w.wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := notify.Add(f.opts.Dir); err != nil {
		return err
	}
	w.report(SessionEvent{Event: Event{Kind: EventResync, Time: time.Now()}})
	entries, err := os.ReadDir(f.opts.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		w.add(ctx, filepath.Join(f.opts.Dir, e.Name()))
	}
	return w.loop(ctx)
}

type watch struct {
	fleet  *Fleet
	notify *fsnotify.Watcher
	wg     sync.WaitGroup

	reporting sync.Mutex // allows one call of each at a time
	each      func(SessionEvent)

	// Used only by the goroutine of loop.
	known map[statedir.Folder]Record // sessions that were reported as appeared and are not gone
	fresh map[statedir.Folder]bool   // new folders in which no session was seen yet

	mu       sync.Mutex
	followed map[statedir.Folder]bool // folders with a goroutine that reads events
}

// report passes an event to the watcher's function, one at a time.
func (w *watch) report(s SessionEvent) {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	w.each(s)
}

// loop handles changes of files until ctx ends or a change stops the watch.
func (w *watch) loop(ctx context.Context) error {
	for {
		select {
		case e := <-w.notify.Events:
			if err := w.handle(ctx, e); err != nil {
				return err
			}
		case err := <-w.notify.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				w.report(SessionEvent{Event: Event{Kind: EventResync, Time: time.Now()}})
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// handle handles one change of a file; an error stops the watch.
func (w *watch) handle(ctx context.Context, e fsnotify.Event) error {
	top := filepath.Dir(e.Name) == w.fleet.opts.Dir
	switch {
	case e.Name == w.fleet.opts.Dir && e.Has(fsnotify.Remove):
		return fmt.Errorf("%s was removed", e.Name)
	case e.Has(fsnotify.Create) && top:
		w.add(ctx, e.Name)
	case e.Has(fsnotify.Create) && filepath.Base(e.Name) == "session.json":
		w.check(ctx, statedir.Folder(filepath.Dir(e.Name)))
	case e.Has(fsnotify.Remove) && top:
		w.reportGone(statedir.Folder(e.Name))
	}
	return nil
}

// reportGone reports that a session was removed. If the session was created and removed before it was seen, its name is
// unknown, and reportGone reports a resync.
func (w *watch) reportGone(dir statedir.Folder) {
	record, known := w.known[dir]
	fresh := w.fresh[dir]
	delete(w.known, dir)
	delete(w.fresh, dir)
	switch {
	case known:
		w.fleet.dropClient(record.Name)
		w.report(SessionEvent{Name: record.Name, Event: Event{Kind: EventGone, Time: time.Now()}})
	case fresh:
		w.report(SessionEvent{Event: Event{Kind: EventResync, Time: time.Now()}})
	}
}

// add watches a session's folder: the file session.json appears when an agent starts, now or later.
func (w *watch) add(ctx context.Context, dir string) {
	w.fresh[statedir.Folder(dir)] = true
	if err := w.notify.Add(dir); err != nil {
		return // already removed
	}
	w.check(ctx, statedir.Folder(dir))
}

// check reports the instance in the folder if it is new, and follows its events.
func (w *watch) check(ctx context.Context, dir statedir.Folder) {
	record, err := readRecord(dir)
	if err != nil || record.Root.PID == 0 {
		return
	}
	if held, err := dir.IsLocked(); err == nil && !held {
		return // the shim has exited; its session remains unseen, so the removal of the folder is reported as a resync
	}
	if former, ok := w.known[dir]; !ok || former.Shim != record.Shim {
		delete(w.fresh, dir)
		w.known[dir] = record
		w.report(SessionEvent{Name: record.Name, Event: Event{Kind: EventAppeared, Time: time.Now()}})
	}
	w.follow(ctx, dir, record.Name)
}

// follow starts a goroutine that reports the events of a session's shim until the shim has exited.
func (w *watch) follow(ctx context.Context, dir statedir.Folder, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.followed[dir] {
		return
	}
	w.followed[dir] = true
	w.wg.Go(func() {
		for w.stream(ctx, dir, name) {
		}
	})
}

// streamRetry is the delay before a stream is opened again.
const streamRetry = 20 * time.Millisecond

// stream reads the events that a shim sends about one instance of a session, until that stream of events ends. again
// reports whether the caller must call stream again: there is another instance, or the shim still runs and its stream was
// cut or could not be opened. If again is false, the folder is not followed any more.
func (w *watch) stream(ctx context.Context, dir statedir.Folder, name string) (again bool) {
	before, recordErr := readRecord(dir)
	token, err := dir.Token()
	exited := false
	if err == nil && recordErr == nil {
		_ = w.fleet.client(name, dir, token).Events(ctx, func(e Event) { // the code below finds out why the stream ended
			exited = exited || e.Exit != nil
			w.report(SessionEvent{Name: name, Event: e})
		})
	}
	held, err := dir.IsLocked()
	if held || err != nil {
		retry.Sleep(ctx, streamRetry)
	}
	if ctx.Err() != nil {
		return false
	}
	if held || err != nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, err := readRecord(dir)
	if err == nil && now.Shim != before.Shim {
		return true
	}
	delete(w.followed, dir)
	if err == nil && !exited {
		w.report(SessionEvent{Name: name, Event: Event{Kind: EventGone, Time: time.Now()}}) // its shim was killed
	}
	return false
}
