package explain

import (
	"context"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
)

const (
	// RecentEvents is the maximum number of events in an explanation.
	RecentEvents = 20
	recentSince  = 7 * 24 * time.Hour
)

// Recent returns the newest events of a session from the last seven days, oldest first.
func Recent(ctx context.Context, log event.Log, now time.Time, name string) ([]client.Event, error) {
	id, err := log.Since(ctx, now.Add(-recentSince))
	if err != nil {
		return nil, err
	}
	events, _, err := log.After(ctx, id)
	return last(events, name), err
}

// last returns the newest events of a session, at most [RecentEvents], oldest first.
func last(events []client.Event, name string) []client.Event {
	var out []client.Event
	for _, e := range slices.Backward(events) {
		if e.Session == name && len(out) < RecentEvents {
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out
}
