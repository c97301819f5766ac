package fakecity

import (
	"context"
	"slices"
	"sync"

	"gascity/client"
)

// Log is an event stream in memory. The zero value is empty.
type Log struct {
	mu      sync.Mutex
	events  []client.Event // guarded by mu
	last    uint64         // guarded by mu
	changed chan struct{}  // guarded by mu; closed at the next change
}

// Append gives the event the next id and notifies the readers.
func (l *Log) Append(e client.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.ID = l.last
	l.events = append(l.events, e)
	l.wakeLocked()
}

// DropUntil drops all events up to the given id.
func (l *Log) DropUntil(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = slices.DeleteFunc(l.events, func(e client.Event) bool { return e.ID <= id })
}

func (l *Log) wakeLocked() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// after returns the events after id, whether some of them are forgotten, and a
// channel that is closed at the next change.
func (l *Log) after(id uint64) (events []client.Event, gap bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	if id > l.last {
		id, gap = 0, true
	}
	for _, e := range l.events {
		if e.ID > id {
			events = append(events, e)
		}
	}
	switch {
	case len(events) > 0:
		gap = gap || events[0].ID != id+1
	case id < l.last:
		gap = true
	}
	return events, gap, l.changed
}

// Read returns what came after the event with the given id and what follows.
func (l *Log) Read(ctx context.Context, id uint64) (past []client.Event, gap bool, next <-chan client.Event) {
	past, gap, changed := l.after(id)
	switch {
	case len(past) > 0:
		id = past[len(past)-1].ID
	case gap:
		id = 0
	}
	out := make(chan client.Event)
	go func() { // ends with ctx
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			var events []client.Event
			events, _, changed = l.after(id)
			for _, e := range events {
				select {
				case <-ctx.Done():
					return
				case out <- e:
					id = e.ID
				}
			}
		}
	}()
	return past, gap, out
}
