package workers

import (
	"context"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/worker"
)

// Stream opens the stream of a run and returns its items. after is the number of the last message
// that the worker has read. An earlier stream of the run is closed. It implements
// workerapi.Streams.
func (e *Engine) Stream(ctx context.Context, id string, after uint64) (<-chan session.StreamItem, error) {
	a, err := e.runByID(id)
	if err != nil {
		return nil, err
	}
	r, err := a.openReader(after)
	if err != nil {
		return nil, err
	}
	e.record(ctx, a, event.WorkerConnected, nil, nil)
	e.saveMemory(a)
	e.renew(ctx, a)
	out := make(chan session.StreamItem, 1)
	go a.feed(ctx, r, out) // returns when ctx or the reader ends, and closes out
	e.opts.City.Sense(a.session)
	return out, nil
}

// openReader returns a new reader with all messages that are not acknowledged. It replaces the
// present reader. after is the number of the last message that the worker has read.
func (a *liveRun) openReader(after uint64) (*reader, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return nil, errFenced
	}
	a.cutLocked(session.StreamItem{})
	if err := a.pushTokenLocked(); err != nil {
		return nil, err
	}
	r := &reader{items: make(chan session.StreamItem, maxLag), closed: make(chan struct{})}
	a.reader, a.streamed, a.missedAt = r, true, time.Time{}
	open, gap := a.mailbox.Open(after)
	if gap != nil {
		r.items <- session.StreamItem{Gap: gap}
	}
	for _, m := range open {
		a.sendLocked(m)
	}
	a.changeLocked()
	return r, nil
}

// feed passes the messages for one reader, a connection of the run's worker, to out until the
// reader is closed or ctx ends.
func (a *liveRun) feed(ctx context.Context, r *reader, out chan<- session.StreamItem) {
	defer close(out)
	defer a.readerClosed(r)
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

// flush passes the items that are still queued for a closed reader to out. If the reader was closed
// because it was too slow, an item with Lagged follows.
func (a *liveRun) flush(ctx context.Context, r *reader, out chan<- session.StreamItem) {
	for len(r.items) > 0 {
		if !sendItem(ctx, out, <-r.items) {
			return
		}
	}
	if r.lagged {
		sendItem(ctx, out, session.StreamItem{Lagged: true})
	}
}

// sendItem sends an item to out and reports whether it did before ctx ended.
func sendItem(ctx context.Context, out chan<- session.StreamItem, i session.StreamItem) bool {
	select {
	case out <- i:
		return true
	case <-ctx.Done():
		return false
	}
}

// readerClosed records that a reader, a connection of the run's worker, is closed.
func (a *liveRun) readerClosed(r *reader) {
	a.mu.Lock()
	if a.reader == r {
		a.reader, a.leftAt = nil, a.engine.opts.Now()
		a.changeLocked()
	}
	a.mu.Unlock()
	a.engine.opts.City.Sense(a.session)
}

// maxPage is the largest number of events in one answer, and in one read of the event log.
const maxPage = 1000

// Events implements workerapi.Streams. It reads the event log page by page, so an answer needs the
// same memory for a log of any length. It skips events from before the start of the run.
func (e *Engine) Events(ctx context.Context, id string, after uint64, limit int) ([]worker.Event, error) {
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	if begun := e.startOf(id); after == 0 && !begun.IsZero() {
		first, err := e.opts.Events.Since(ctx, begun)
		if err != nil {
			return nil, err
		}
		after = first
	}
	page := []worker.Event{}
	for ctx.Err() == nil {
		past, err := e.opts.Events.Page(ctx, after, maxPage)
		if err != nil {
			return nil, err
		}
		for i := range past {
			if ev, ours := workerEvent(&past[i], id); ours {
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

// startOf returns a time before which the run has no events, or zero if that is not known or no run
// is named.
func (e *Engine) startOf(id string) time.Time {
	a, err := e.runByID(id)
	if err != nil {
		return time.Time{}
	}
	v, err := e.opts.City.Snapshot(a.session)
	if err != nil || v.StartedAt.IsZero() {
		return time.Time{}
	}
	return v.StartedAt.Add(-unseenWithin) // its worker may have reported before the controller saw it
}

// workerEvent converts an entry of the city's event log to an event of the worker API. ours is
// false if the entry is not a report of the run id. An empty id matches every run.
func workerEvent(entry *client.Event, id string) (ev worker.Event, ours bool) {
	name, ours := event.Kind(entry.Kind).WorkerReport()
	if !ours || id != "" && entry.Data[dataRun] != id {
		return worker.Event{}, false
	}
	return worker.Event{Seq: entry.ID, At: entry.Time, RunID: entry.Data[dataRun], Kind: name, Data: []byte(entry.Data[dataBody])}, true
}
