package control

import "context"

// Wants says how much of the output of panes a subscription gets.
type Wants uint8

const (
	// OutputMarks asks for Output events without Data: that a pane printed.
	OutputMarks Wants = iota
	// OutputData asks for Output events with Data, bounded for each pane.
	OutputData
	// OutputNone asks for no Output events.
	OutputNone
)

// Subscription is one reader of the events. It never holds up the client or
// another subscription: output waits joined, one event for each pane, at most 256 KiB of
// it, then the oldest is left out and Gap is set; of other events at most 4,096 wait,
// then all are replaced by one Resync.
type Subscription struct {
	queue  *queue
	client *Client
}

// Next returns the next event and waits for it. Errors: the cause of ctx, ErrClosed
// after Close of the subscription or of the client, once what waited has been read.
// One goroutine at a time may call it.
func (s *Subscription) Next(ctx context.Context) (Event, error) { return s.queue.next(ctx) }

// Close ends the subscription. It may be called twice and from any goroutine.
func (s *Subscription) Close() {
	s.client.mu.Lock()
	delete(s.client.subscriptions, s.queue)
	s.client.mu.Unlock()
	s.queue.close()
}
