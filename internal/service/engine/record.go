package engine

import (
	"context"
	"log/slog"
	"strings"

	"gascity/client"
	"gascity/internal/domain/event"
)

// Record appends an event. If that fails, it only logs the failure with the attributes, because what the event reports has
// happened anyway; for that reason the end of ctx does not cancel it.
func Record(ctx context.Context, events event.Log, logger *slog.Logger, e client.Event, attributes ...any) {
	if _, err := events.Append(context.WithoutCancel(ctx), e); err != nil {
		logger.With(attributes...).Error("cannot save an event", "kind", e.Kind, "session", e.Session, "error", err)
	}
}

// NewID returns the prefix with 8 letters and digits of random. It tries again while the ID is taken.
func NewID(prefix string, random func() string, taken func(id string) bool) string {
	for {
		if id := prefix + strings.ToLower(random()[:8]); !taken(id) {
			return id
		}
	}
}
