package event

import (
	"context"
	"slices"
	"sync"
	"time"

	"gascity/client"
)

// Log is the time line of a city. Safe for concurrent use.
type Log interface {
	// Append stores e with the next id, and with the current time if its Time is zero, and returns
	// it. It never waits for readers.
	Append(e client.Event) (client.Event, error)
	// After returns the events after the one with the given id, oldest first; zero means from the
	// beginning. gap is true if some of these events were already removed. If this log never
	// assigned the id, for example because it is from an earlier log, gap is true and all events
	// are returned.
	After(id uint64) (events []client.Event, gap bool, err error)
	// Page returns the first limit events that After would return, without reading the others.
	// limit is 1 or more. Continue with the id of the last returned event.
	Page(id uint64, limit int) (events []client.Event, err error)
	// Since returns the id of the newest event that is older than t, so that After(id) returns the
	// events since t. It returns zero if no event is that old.
	Since(t time.Time) (id uint64, err error)
	// Wait blocks until there is an event with a greater id, then returns nil. It returns the
	// cause of ctx if ctx is done first.
	Wait(ctx context.Context, id uint64) error
}

// Memory is a [Log] in memory that keeps only the most recent events.
type Memory struct {
	retain int
	base   uint64 // the id before the first
	now    func() time.Time

	mu     sync.Mutex
	last   uint64         // id of the newest event, base if there is none
	events []client.Event // the newest, with consecutive ids
	grown  chan struct{}  // closed and replaced by each Append
}

var _ Log = (*Memory)(nil)

// NewMemory returns an empty log that keeps at least retain events (1 or more)
// and whose first id is base+1. A base that grows from one log of a city to the
// next, such as the time, lets readers that resume notice the change.
func NewMemory(retain int, base uint64, now func() time.Time) *Memory {
	return &Memory{retain: max(1, retain), base: base, last: base, now: now, grown: make(chan struct{})}
}

// Append implements [Log]. It never fails.
func (m *Memory) Append(e client.Event) (client.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	e.ID = m.last
	if e.Time.IsZero() {
		e.Time = m.now()
	}
	m.events = append(m.events, e)
	if len(m.events) >= 2*m.retain { // amortized: one copy for every retain events
		m.events = slices.Clone(m.events[len(m.events)-m.retain:])
	}
	close(m.grown)
	m.grown = make(chan struct{})
	return e, nil
}

// After implements [Log].
func (m *Memory) After(id uint64) ([]client.Event, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := m.last - uint64(len(m.events)) + 1
	switch {
	case id == 0:
		return slices.Clone(m.events), first > m.base+1, nil
	case id > m.last, id+1 < first:
		return slices.Clone(m.events), true, nil
	}
	return slices.Clone(m.events[id+1-first:]), false, nil
}

// Page implements [Log].
func (m *Memory) Page(id uint64, limit int) ([]client.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	if first := m.last - uint64(len(events)) + 1; id >= first && id <= m.last {
		events = events[id+1-first:]
	}
	return slices.Clone(events[:min(len(events), max(1, limit))]), nil
}

// Since implements [Log].
func (m *Memory) Since(t time.Time) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range slices.Backward(m.events) {
		if e.Time.Before(t) {
			return e.ID, nil
		}
	}
	return 0, nil
}

// Wait implements [Log].
func (m *Memory) Wait(ctx context.Context, id uint64) error {
	for {
		m.mu.Lock()
		grown, last := m.grown, m.last
		m.mu.Unlock()
		if last > max(id, m.base) {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
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
			events, gap, err := l.After(id)
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
	past, gap, err := l.After(id)
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
