package event

import (
	"context"
	"time"

	"gascity/client"
)

// Log is the time line of a city. Safe for concurrent use.
type Log interface {
	// Append stores e with the next id, and with the current time if its Time is zero, and returns
	// it. It never waits for readers. If ctx ends first, the event may be stored or not.
	Append(ctx context.Context, e client.Event) (client.Event, error)
	// After returns the events after the one with the given id, oldest first; zero means from the
	// beginning. gap is true if some of these events were already removed. If this log never
	// assigned the id, for example because it is from an earlier log, gap is true and all events
	// are returned.
	After(ctx context.Context, id uint64) (events []client.Event, gap bool, err error)
	// Page returns the first limit events that After would return, without reading the others.
	// limit is 1 or more. Continue with the id of the last returned event.
	Page(ctx context.Context, id uint64, limit int) (events []client.Event, err error)
	// Since returns the id of the newest event that is older than t, so that After(id) returns the
	// events since t. It returns zero if no event is that old.
	Since(ctx context.Context, t time.Time) (id uint64, err error)
	// Wait blocks until there is an event with a greater id, then returns nil. It returns the
	// cause of ctx if ctx is done first.
	Wait(ctx context.Context, id uint64) error
}

// Follow returns a channel of the events after id, in order and without gaps. Events are read from
// the log as the receiver receives them. The channel is closed when ctx is done, when the log
// fails, or when events were removed before the receiver got them. A reader that then resumes with
// [Log.After] gets gap == true.
func Follow(ctx context.Context, l Log, id uint64) <-chan client.Event {
	out := make(chan client.Event)
	go func() {
		defer close(out)
		for l.Wait(ctx, id) == nil {
			events, gap, err := l.After(ctx, id)
			if gap || err != nil {
				return
			}
			for _, e := range events {
				select {
				case out <- e:
					id = e.ID
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

// Subscription contains the events after an id: those already in the log and a channel of the
// following ones, without a gap between them.
type Subscription struct {
	Past []client.Event      // events after the id that were already in the log
	Gap  bool                // some of these events were already removed
	Next <-chan client.Event // the following events, see [Follow]
}

// Subscribe returns the events after id that are in the log, and a channel of the following ones.
func Subscribe(ctx context.Context, l Log, id uint64) (Subscription, error) {
	past, gap, err := l.After(ctx, id)
	if err != nil {
		return Subscription{}, err
	}
	switch {
	case len(past) > 0:
		id = past[len(past)-1].ID
	case gap:
		id = 0
	}
	return Subscription{past, gap, Follow(ctx, l, id)}, nil
}
