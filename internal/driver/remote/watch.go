package remote

import (
	"bufio"
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"gascity/runtime"
)

// eventsKept is the number of unread events that a watcher may have.
const eventsKept = 256

// Watch implements runtime.Watcher. The channel stays open when the connection is lost: Watch connects again with growing
// delays and then sends a resync.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	w := &watcher{link: p.link, out: make(chan runtime.Event, eventsKept), attempted: make(chan struct{})}
	if p.link.ctx.Err() != nil {
		close(w.out)
		return w.out, nil //nolint:nilerr // a closed channel reports the end
	}
	p.link.work.Go(func() {
		defer close(w.out)
		w.run(ctx)
	})
	select {
	case <-w.attempted: // all later events are reported
	case <-ctx.Done():
	}
	return w.out, nil
}

// watcher sends the remote events to one channel.
type watcher struct {
	link      *link
	out       chan runtime.Event
	resyncDue bool // an event was lost: the next event must be a resync

	attempted chan struct{} // closed when the remote end watches, or could not be reached
	once      sync.Once
}

// run reads events from one connection after the other until ctx ends.
func (w *watcher) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.link.ctx, cancel)()
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 10*time.Second
	for ctx.Err() == nil {
		if w.follow(ctx) {
			pause.Reset()
		}
		w.resyncDue = true // events may have been lost in between
		w.once.Do(func() {
			w.deliver(runtime.Event{Time: time.Now()})
			close(w.attempted)
		})
		timer := time.NewTimer(pause.NextBackOff())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// follow reads events until the connection is lost. It reports whether it received any.
func (w *watcher) follow(ctx context.Context) bool {
	stream, err := w.link.open(ctx)
	if err != nil {
		return false
	}
	defer abort(stream)
	stop := context.AfterFunc(ctx, func() { abort(stream) })
	defer stop()
	if err := writeLine(stream, request{Op: opWatch}); err != nil {
		return false
	}
	in := bufio.NewReader(stream)
	for received := false; ; received = true {
		var a answer
		if err := readLine(in, &a); err != nil || a.Err != nil {
			return received
		}
		e, err := decode[runtime.Event](a.Body)
		if err != nil {
			return received
		}
		w.deliver(e)
		w.once.Do(func() { close(w.attempted) })
	}
}

// deliver sends an event without blocking. If the channel is full, the event is lost and the next one is a resync.
func (w *watcher) deliver(e runtime.Event) {
	if w.resyncDue {
		e = runtime.Event{Kind: runtime.EventResync, Time: e.Time}
	}
	select {
	case w.out <- e:
		w.resyncDue = false
	default:
		w.resyncDue = true
	}
}
