package exchange

import (
	"context"

	"gascity/internal/event"
	"gascity/internal/run"
	"gascity/worker"
)

// Stream keeps the contract of workerapi.Streams.
func (e *Engine) Stream(ctx context.Context, id string, after uint64) (<-chan run.Item, error) {
	a, err := e.named(id)
	if err != nil {
		return nil, err
	}
	r, err := a.open(after)
	if err != nil {
		return nil, err
	}
	e.record(a, event.WorkerConnected, nil, nil)
	e.keep(a)
	out := make(chan run.Item, 1)
	go a.feed(ctx, r, out) // it ends with ctx or the reader, and closes out
	e.opts.City.Sense(a.session)
	return out, nil
}

// open makes a reader in the place of the one that there is.
func (a *active) open(after uint64) (*reader, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return nil, errFenced
	}
	a.cutLocked(run.Item{})
	if err := a.pushTokenLocked(); err != nil {
		return nil, err
	}
	r := &reader{items: make(chan run.Item, maxLag), gone: make(chan struct{})}
	a.reader, a.streamed = r, true
	open, gap := a.box.Open(after)
	if gap != nil {
		r.items <- run.Item{Gap: gap}
	}
	for _, m := range open {
		a.sendLocked(m)
	}
	a.changeLocked()
	return r, nil
}

// feed hands items to one reader.
func (a *active) feed(ctx context.Context, r *reader, out chan<- run.Item) {
	defer close(out)
	defer a.left(r)
	for {
		select {
		case i := <-r.items:
			if !hand(ctx, out, i) {
				return
			}
		case <-r.gone:
			a.rest(ctx, r, out)
			return
		case <-ctx.Done():
			return
		}
	}
}

// rest hands over what is queued. A reader that was cut off because it was too slow
// is told so.
func (a *active) rest(ctx context.Context, r *reader, out chan<- run.Item) {
	for len(r.items) > 0 {
		if !hand(ctx, out, <-r.items) {
			return
		}
	}
	if r.lagged {
		hand(ctx, out, run.Item{Lagged: true})
	}
}

func hand(ctx context.Context, out chan<- run.Item, i run.Item) bool {
	select {
	case out <- i:
		return true
	case <-ctx.Done():
		return false
	}
}

// left notes that a reader is gone.
func (a *active) left(r *reader) {
	a.mu.Lock()
	if a.reader == r {
		a.reader, a.leftAt = nil, a.engine.opts.Now()
		a.changeLocked()
	}
	a.mu.Unlock()
	a.engine.opts.City.Sense(a.session)
}

// maxPage is how many events one answer has.
const maxPage = 1000

// Events keeps the contract of workerapi.Streams.
func (e *Engine) Events(_ context.Context, id string, after uint64) ([]worker.Event, error) {
	past, _, err := e.opts.Events.After(after)
	if err != nil {
		return nil, err
	}
	page := []worker.Event{}
	for _, entry := range past {
		name, ours := event.Kind(entry.Kind).WorkerReport()
		if !ours || id != "" && entry.Data[dataRun] != id {
			continue
		}
		page = append(page, worker.Event{Seq: entry.ID, At: entry.Time, RunID: entry.Data[dataRun], Kind: name, Data: []byte(entry.Data[dataBody])})
		if len(page) == maxPage {
			break
		}
	}
	return page, nil
}
