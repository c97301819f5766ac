package remote

import (
	"bufio"
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"gascity/runtime"
)

// eventsKept is how many events wait for a slow watcher.
const eventsKept = 256

// Watch implements runtime.Watcher. The channel outlives the connection: after
// a loss it is made again, with growing pauses, and the watcher gets a resync.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	w := &watcher{link: p.link, out: make(chan runtime.Event, eventsKept), attempted: make(chan struct{})}
	if p.link.ctx.Err() != nil {
		close(w.out)
		return w.out, nil //nolint:nilerr // the channel's end says it
	}
	p.link.work.Go(func() {
		defer close(w.out)
		w.run(ctx)
	})
	select {
	case <-w.attempted: // what happens from now on is reported
	case <-ctx.Done():
	}
	return w.out, nil
}

// watcher hands the far events to one channel.
type watcher struct {
	link      *link
	out       chan runtime.Event
	resyncDue bool // an event could not be handed on: a resync is owed

	attempted chan struct{} // closed once the far end watches, or could not be reached
	once      sync.Once
}

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
		w.resyncDue = true // whatever happened meanwhile was not seen
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

// follow follows one connection to its end. It reports whether there was one.
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
	for told := false; ; told = true {
		var a answer
		if err := readLine(in, &a); err != nil || a.Err != nil {
			return told
		}
		e, err := decode[runtime.Event](a.Body)
		if err != nil {
			return told
		}
		w.deliver(e)
		w.once.Do(func() { close(w.attempted) })
	}
}

// deliver never blocks: a watcher that is too slow gets a resync.
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
