package tmuxserver

import (
	"context"
	"sync"
)

const (
	// maxOutput is the limit in bytes of one pane's output that waits in one subscription.
	maxOutput = 256 << 10
	// maxEvents is the limit of events that wait in one subscription, without output events.
	maxEvents = 4096
)

// queue stores the events of one subscription until they are read.
type queue struct {
	// Constant after construction.
	wants Wants
	// wake has capacity one. A value means that an event can be read or the queue was closed.
	wake chan struct{}

	mu sync.Mutex
	// waiting are the unread events, oldest first. Guarded by mu.
	waiting []*Event
	// outputs are the Output events in waiting, by pane. Guarded by mu.
	outputs map[string]*Event
	// others counts the events in waiting that are not output. Guarded by mu.
	others int
	closed bool
}

func newQueue(wants Wants) *queue {
	return &queue{wants: wants, wake: make(chan struct{}, 1), outputs: map[string]*Event{}}
}

// push adds an event to the queue without waiting. It copies the Data of the event. If maxEvents events wait, it replaces
// all by one Resync.
func (q *queue) push(event Event) {
	if event.Kind == Output && q.wants == OutputNone {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	switch {
	case event.Kind == Output:
		q.pushOutputLocked(event)
	case q.others >= maxEvents && event.Kind != ServerLost:
		q.clearLocked()
		q.appendLocked(&Event{Kind: Resync})
	case event.Kind == Resync && q.resyncWaitsLocked():
	default:
		q.appendLocked(&event)
	}
	q.wakeLocked()
}

// resyncWaitsLocked reports whether the newest waiting event is a Resync.
func (q *queue) resyncWaitsLocked() bool {
	return len(q.waiting) > 0 && q.waiting[len(q.waiting)-1].Kind == Resync
}

// pushOutputLocked adds output to the waiting output event of the pane. Above maxOutput it drops the oldest bytes.
func (q *queue) pushOutputLocked(event Event) {
	waiting := q.outputs[event.Pane]
	if waiting == nil {
		waiting = &Event{Kind: Output, Pane: event.Pane}
		q.outputs[event.Pane] = waiting
		q.waiting = append(q.waiting, waiting)
	}
	waiting.Gap = waiting.Gap || event.Gap
	if q.wants == OutputMarks {
		return
	}
	waiting.Data = append(waiting.Data, event.Data...)
	if excess := len(waiting.Data) - maxOutput; excess > 0 {
		// Drop half of the limit at once, so that the bytes are not moved for each notification.
		kept := copy(waiting.Data, waiting.Data[excess+maxOutput/2:])
		waiting.Data, waiting.Gap = waiting.Data[:kept], true
	}
}

func (q *queue) appendLocked(event *Event) {
	q.waiting = append(q.waiting, event)
	q.others++
}

func (q *queue) clearLocked() {
	clear(q.waiting)
	clear(q.outputs)
	q.waiting, q.others = q.waiting[:0], 0
}

func (q *queue) wakeLocked() {
	select {
	case q.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// next removes the oldest event and returns it. It waits until there is one. It returns ErrClosed if the queue is closed
// and empty.
func (q *queue) next(ctx context.Context) (Event, error) {
	for {
		event, ok, err := q.pop()
		if ok || err != nil {
			return event, err
		}
		select {
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		case <-q.wake:
		}
	}
}

// pop removes the oldest event and returns it; ok is false if there is none.
func (q *queue) pop() (event Event, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		if q.closed {
			q.wakeLocked()
			return Event{}, false, ErrClosed
		}
		return Event{}, false, nil
	}
	first := q.waiting[0]
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	if q.outputs[first.Pane] == first {
		delete(q.outputs, first.Pane)
	} else {
		q.others--
	}
	return *first, true, nil
}

// close closes the queue. The reader can still read the waiting events; later events are dropped.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wakeLocked()
}
