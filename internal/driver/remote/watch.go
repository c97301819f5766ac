package remote

import (
	"bufio"
	"context"
	"sync"
	"time"

	"gascity/internal/driver"
	"gascity/internal/retry"
	"gascity/runtime"
)

// Watch implements runtime.Watcher. The channel stays open when the connection is lost: Watch connects again with growing
// delays and then sends a resync.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	w := &watcher{link: p.link, feed: driver.NewFeed(), attempted: make(chan struct{})}
	if p.link.ctx.Err() != nil {
		w.feed.Close()
		return w.feed.Events(), nil //nolint:nilerr // a closed channel reports the end
	}
	p.link.work.Go(func() {
		defer w.feed.Close()
		w.run(ctx)
	})
	select {
	case <-w.attempted: // all later events are reported
	case <-ctx.Done():
	}
	return w.feed.Events(), nil
}

// watcher sends the remote events to one channel.
type watcher struct {
	link *link
	feed *driver.Feed

	attempted chan struct{} // closed when the remote end watches, or could not be reached
	once      sync.Once
}

// run reads the events of the remote host until ctx ends. When the connection is lost, it continues on the next one.
func (w *watcher) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.link.ctx, cancel)()
	var repair sync.WaitGroup
	defer repair.Wait()
	repair.Go(func() { w.feed.Repair(ctx) })
	for delay := retry.New(100*time.Millisecond, 10*time.Second); ctx.Err() == nil; delay.Wait(ctx) {
		if w.follow(ctx) {
			delay.Reset()
		}
		w.once.Do(func() {
			w.feed.SendResync()
			close(w.attempted)
		})
	}
}

// follow reads events until the connection is lost. It reports whether it received any. The first is a resync, because events
// may have been lost since the last connection.
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
		w.feed.Send(e)
		w.once.Do(func() { close(w.attempted) })
	}
}
