package controlapi

import (
	"context"
	"slices"
	"sync"
	"time"

	"gascity/client"
)

// stubCity is a City with the events of a test, an empty status and an empty plan. A test replaces
// the other methods that it needs; the rest panic. Tests of a real city are in city_test.go.
type stubCity struct {
	City
	Root string

	log eventLog
}

func (*stubCity) Status(context.Context) (client.Status, error) {
	return client.Status{Agents: []client.Agent{}}, nil
}

func (*stubCity) StatusChanged() <-chan struct{} { return nil }

// Since finds no older event, so every query reads all events.
func (*stubCity) Since(context.Context, time.Time) (uint64, error) { return 0, nil }

func (*stubCity) Plan(context.Context) (client.Plan, error) {
	return client.Plan{Actions: []client.Action{}}, nil
}

func (c *stubCity) Events(ctx context.Context, after uint64) ([]client.Event, bool, <-chan client.Event, error) { //nolint:revive // the interface has four results
	past, gap, next := c.log.Read(ctx, after)
	return past, gap, next, nil
}

// emit puts an event on the stream.
func (c *stubCity) emit(kind string, agent client.Agent, text string) {
	c.log.Append(client.Event{Time: time.Now(), Kind: kind, Agent: agent.Name, Session: agent.Session, Text: text})
}

// eventLog is an event stream in memory. The zero value is empty.
type eventLog struct {
	mu      sync.Mutex
	events  []client.Event // guarded by mu
	last    uint64         // guarded by mu
	changed chan struct{}  // guarded by mu; closed at the next change
}

// Append gives the event the next id and notifies the readers.
func (l *eventLog) Append(e client.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.ID = l.last
	l.events = append(l.events, e)
	l.wakeLocked()
}

// DropUntil drops all events up to the given id.
func (l *eventLog) DropUntil(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = slices.DeleteFunc(l.events, func(e client.Event) bool { return e.ID <= id })
}

func (l *eventLog) wakeLocked() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// after returns the events after id, whether some of them are forgotten, and a
// channel that is closed at the next change.
func (l *eventLog) after(id uint64) (events []client.Event, gap bool, changed <-chan struct{}) {
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
func (l *eventLog) Read(ctx context.Context, id uint64) (past []client.Event, gap bool, next <-chan client.Event) {
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
