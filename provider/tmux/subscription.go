package tmux

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

// subscription is one reader of the events. A slow reader does not block the client or other subscriptions. Unread
// output is joined to one event for each pane. Above 256 KiB the oldest bytes are dropped and Gap is set. If 4,096 other
// events are unread, one eventResync replaces all events.
type subscription struct {
	// Constant after construction.
	client *controlClient
	// wake has capacity one. A value means that an event can be read or the subscription was closed.
	wake chan struct{}

	mu sync.Mutex
	// waiting are the unread events, oldest first. Guarded by mu.
	waiting []*controlEvent
	// outputs are the eventOutput events in waiting, by pane. Guarded by mu.
	outputs map[string]*controlEvent
	// others counts the events in waiting that are not output. Guarded by mu.
	others int
	closed bool
}

// push adds an event without waiting. It copies the Data of the event. If maxEvents events wait, it replaces all by one
// eventResync.
func (s *subscription) push(event controlEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	switch {
	case event.Kind == eventOutput:
		s.pushOutputLocked(event)
	case s.others >= maxEvents && event.Kind != eventServerLost:
		clear(s.waiting)
		clear(s.outputs)
		s.waiting, s.others = append(s.waiting[:0], &controlEvent{Kind: eventResync}), 1
	case event.Kind == eventResync && s.resyncWaitsLocked():
	default:
		s.waiting = append(s.waiting, &event)
		s.others++
	}
	s.wakeLocked()
}

// resyncWaitsLocked reports whether the newest waiting event is an eventResync.
func (s *subscription) resyncWaitsLocked() bool {
	return len(s.waiting) > 0 && s.waiting[len(s.waiting)-1].Kind == eventResync
}

// pushOutputLocked adds output to the waiting output event of the pane. Above maxOutput it drops the oldest bytes.
func (s *subscription) pushOutputLocked(event controlEvent) {
	waiting := s.outputs[event.Pane]
	if waiting == nil {
		waiting = &controlEvent{Kind: eventOutput, Pane: event.Pane}
		s.outputs[event.Pane] = waiting
		s.waiting = append(s.waiting, waiting)
	}
	waiting.Gap = waiting.Gap || event.Gap
	waiting.Data = append(waiting.Data, event.Data...)
	if excess := len(waiting.Data) - maxOutput; excess > 0 {
		// Drop half of the limit at once, so that the bytes are not moved for each notification.
		kept := copy(waiting.Data, waiting.Data[excess+maxOutput/2:])
		waiting.Data, waiting.Gap = waiting.Data[:kept], true
	}
}

func (s *subscription) wakeLocked() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// Next waits for the next event, removes it and returns it. Errors: the cause of ctx, or errClosed if the subscription or
// the client is closed and all waiting events were read. Only one goroutine at a time may call it.
func (s *subscription) Next(ctx context.Context) (controlEvent, error) {
	for {
		event, ok, err := s.pop()
		if ok || err != nil {
			return event, err
		}
		select {
		case <-ctx.Done():
			return controlEvent{}, context.Cause(ctx)
		case <-s.wake:
		}
	}
}

// pop removes the oldest event and returns it; ok is false if there is none.
func (s *subscription) pop() (event controlEvent, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		if s.closed {
			s.wakeLocked()
			return controlEvent{}, false, errClosed
		}
		return controlEvent{}, false, nil
	}
	first := s.waiting[0]
	s.waiting[0] = nil
	s.waiting = s.waiting[1:]
	if s.outputs[first.Pane] == first {
		delete(s.outputs, first.Pane)
	} else {
		s.others--
	}
	return *first, true, nil
}

// Close closes the subscription: later events are dropped. It may be called twice and from any goroutine.
func (s *subscription) Close() {
	s.client.mu.Lock()
	delete(s.client.subscriptions, s)
	s.client.mu.Unlock()
	s.end()
}

// end makes Next return errClosed after the waiting events.
func (s *subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.wakeLocked()
}
