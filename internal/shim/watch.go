package shim

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Sighting is an [Event] of one session, as [Fleet.Watch] reports it.
type Sighting struct {
	Name string
	Event
}

// The kinds that only a fleet reports.
const (
	EventAppeared EventKind = "appeared" // a session was found
	EventGone     EventKind = "gone"     // it was stopped, or its shim was killed; see Fleet.Look
	EventResync   EventKind = "resync"   // events may have been lost; look at everything
)

// Watch calls each for what happens to any session, also to those that other
// processes start, until ctx ends. Calls come one at a time. It costs one
// connection for each session and nothing while nothing happens.
func (f *Fleet) Watch(ctx context.Context, each func(Sighting)) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer notify.Close()
	w := &watch{fleet: f, each: each, notify: notify, followed: map[folder]bool{}, names: map[folder]string{}}
	defer w.wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := notify.Add(f.opts.Dir); err != nil {
		return err
	}
	w.report(Sighting{Event: Event{Kind: EventResync, Time: time.Now()}})
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

	reporting sync.Mutex // one call of each at a time
	each      func(Sighting)

	mu       sync.Mutex
	followed map[folder]bool   // folders with a goroutine
	names    map[folder]string // of the sessions that were seen and are not gone
}

func (w *watch) report(s Sighting) {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	w.each(s)
}

func (w *watch) loop(ctx context.Context) error {
	for {
		select {
		case e := <-w.notify.Events:
			w.take(ctx, e)
		case err := <-w.notify.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				w.report(Sighting{Event: Event{Kind: EventResync, Time: time.Now()}})
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (w *watch) take(ctx context.Context, e fsnotify.Event) {
	top := filepath.Dir(e.Name) == w.fleet.opts.Dir
	switch {
	case e.Has(fsnotify.Create) && top:
		w.add(ctx, e.Name)
	case e.Has(fsnotify.Create) && filepath.Base(e.Name) == "session.json":
		w.follow(ctx, folder(filepath.Dir(e.Name)))
	case e.Has(fsnotify.Remove) && top:
		w.gone(folder(e.Name))
	}
}

// gone reports that nothing is left of a session.
func (w *watch) gone(dir folder) {
	w.mu.Lock()
	name, known := w.names[dir]
	delete(w.names, dir)
	w.mu.Unlock()
	if known {
		w.report(Sighting{Name: name, Event: Event{Kind: EventGone, Time: time.Now()}})
	}
}

// add watches a session's folder: its record appears when its agent starts, now
// or the next time.
func (w *watch) add(ctx context.Context, dir string) {
	if err := w.notify.Add(dir); err != nil {
		return // removed again already
	}
	w.follow(ctx, folder(dir))
}

// follow reports the events of a session's shim until it is gone.
func (w *watch) follow(ctx context.Context, dir folder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	record, err := dir.readRecord()
	if err != nil || w.followed[dir] {
		return
	}
	w.followed[dir] = true
	w.names[dir] = record.Name
	w.wg.Go(func() {
		for w.stream(ctx, dir, record.Name) {
			if record, err = dir.readRecord(); err != nil {
				break
			}
		}
	})
}

// stream follows one incarnation. It reports whether another one has taken its
// place meanwhile; if not, the folder is not followed any more.
func (w *watch) stream(ctx context.Context, dir folder, name string) (again bool) {
	token, err := dir.token()
	exited := false
	if err == nil {
		first := true
		_ = w.fleet.client(name, dir, token).Events(ctx, func(e Event) { // its end is what we want to know
			if first {
				first = false
				w.report(Sighting{Name: name, Event: Event{Kind: EventAppeared, Time: e.Time}})
			}
			exited = exited || e.Exit != nil
			w.report(Sighting{Name: name, Event: e})
		})
	}
	if ctx.Err() != nil {
		return false
	}
	if _, err := dir.readRecord(); err == nil && !exited {
		w.report(Sighting{Name: name, Event: Event{Kind: EventGone, Time: time.Now()}}) // its shim was killed
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, err := dir.token()
	if err == nil && now != token {
		return true
	}
	delete(w.followed, dir)
	return false
}
