package tmuxserver

import "context"

// Wants selects how much of the panes' output a subscription gets.
type Wants uint8

const (
	// OutputMarks selects Output events without Data. They only report that a pane has printed something.
	OutputMarks Wants = iota
	// OutputData selects Output events with Data.
	OutputData
	// OutputNone selects no Output events.
	OutputNone
)

// Subscription is one reader of the events. A slow reader does not block the client or other subscriptions. Unread
// output is joined to one event for each pane. Above 256 KiB the oldest bytes are dropped and Gap is set. If 4,096 other
// events are unread, one Resync replaces all events.
type Subscription struct {
	queue  *queue
	client *Client
}

// Next waits for the next event and returns it. Errors: the cause of ctx, or ErrClosed if the subscription or the client
// is closed and all waiting events were read. Only one goroutine at a time may call it.
func (s *Subscription) Next(ctx context.Context) (Event, error) { return s.queue.next(ctx) }

// Close closes the subscription. It may be called twice and from any goroutine.
func (s *Subscription) Close() {
	s.client.mu.Lock()
	delete(s.client.subscriptions, s.queue)
	s.client.mu.Unlock()
	s.queue.close()
}
