package workers

import (
	"context"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/workerrun"
	"gascity/worker"
)

// Stream implements workerapi.Streams.
func (e *Engine) Stream(ctx context.Context, id string, after uint64) (<-chan workerrun.Item, error) {
	a, err := e.named(id)
	if err != nil {
		return nil, err
	}
	r, err := a.open(after)
	if err != nil {
		return nil, err
	}
	e.record(a, event.WorkerConnected, nil, nil)
	e.saveMemory(a)
	e.renew(ctx, a)
	out := make(chan workerrun.Item, 1)
	go a.feed(ctx, r, out) // it ends with ctx or the reader, and closes out
	e.opts.City.Sense(a.session)
	return out, nil
}

// open makes a reader in the place of the one that there is.
func (a *liveRun) open(after uint64) (*reader, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return nil, errFenced
	}
	a.cutLocked(workerrun.Item{})
	if err := a.pushTokenLocked(); err != nil {
		return nil, err
	}
	r := &reader{items: make(chan workerrun.Item, maxLag), closed: make(chan struct{})}
	a.reader, a.streamed, a.missedAt = r, true, time.Time{}
	open, gap := a.mailbox.Open(after)
	if gap != nil {
		r.items <- workerrun.Item{Gap: gap}
	}
	for _, m := range open {
		a.sendLocked(m)
	}
	a.changeLocked()
	return r, nil
}

// feed passes items to one reader.
func (a *liveRun) feed(ctx context.Context, r *reader, out chan<- workerrun.Item) {
	defer close(out)
	defer a.left(r)
	for {
		select {
		case i := <-r.items:
			if !sendItem(ctx, out, i) {
				return
			}
		case <-r.closed:
			a.flush(ctx, r, out)
			return
		case <-ctx.Done():
			return
		}
	}
}

// flush passes over what is queued. A reader that was cut off because it was too slow
// gets that as the reason.
func (a *liveRun) flush(ctx context.Context, r *reader, out chan<- workerrun.Item) {
	for len(r.items) > 0 {
		if !sendItem(ctx, out, <-r.items) {
			return
		}
	}
	if r.lagged {
		sendItem(ctx, out, workerrun.Item{Lagged: true})
	}
}

func sendItem(ctx context.Context, out chan<- workerrun.Item, i workerrun.Item) bool {
	select {
	case out <- i:
		return true
	case <-ctx.Done():
		return false
	}
}

// left records that a reader is gone.
func (a *liveRun) left(r *reader) {
	a.mu.Lock()
	if a.reader == r {
		a.reader, a.leftAt = nil, a.engine.opts.Now()
		a.changeLocked()
	}
	a.mu.Unlock()
	a.engine.opts.City.Sense(a.session)
}

// maxPage is how many events one answer has, and one look into the time line.
const maxPage = 1000

// Events implements workerapi.Streams. The time line is read page by page: an
// answer costs the same memory however long that is. What was recorded before a run
// began is not looked at for it.
func (e *Engine) Events(ctx context.Context, id string, after uint64, limit int) ([]worker.Event, error) {
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	if begun := e.begun(id); after == 0 && !begun.IsZero() {
		first, err := e.opts.Events.Since(begun)
		if err != nil {
			return nil, err
		}
		after = first
	}
	page := []worker.Event{}
	for ctx.Err() == nil {
		past, err := e.opts.Events.Page(after, maxPage)
		if err != nil {
			return nil, err
		}
		for i := range past {
			if ev, ours := reported(&past[i], id); ours {
				page = append(page, ev)
			}
			if len(page) == limit {
				return page, nil
			}
		}
		if len(past) < maxPage || past[len(past)-1].ID <= after {
			return page, nil
		}
		after = past[len(past)-1].ID
	}
	return nil, ctx.Err()
}

// begun returns when the instance of a run started; zero: not known, or no run was named.
func (e *Engine) begun(id string) time.Time {
	a, err := e.named(id)
	if err != nil {
		return time.Time{}
	}
	v, err := e.opts.City.Snapshot(a.session)
	if err != nil || v.StartedAt.IsZero() {
		return time.Time{}
	}
	return v.StartedAt.Add(-unseenWithin) // its worker may have spoken before it was seen
}

// reported returns what a worker of the run reported by an entry of the time line; not ours
// if it is none. An empty run is any.
func reported(entry *client.Event, id string) (ev worker.Event, ours bool) {
	name, ours := event.Kind(entry.Kind).WorkerReport()
	if !ours || id != "" && entry.Data[dataRun] != id {
		return worker.Event{}, false
	}
	return worker.Event{Seq: entry.ID, At: entry.Time, RunID: entry.Data[dataRun], Kind: name, Data: []byte(entry.Data[dataBody])}, true
}
