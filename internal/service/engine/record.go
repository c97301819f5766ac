package engine

import (
	"context"
	"log/slog"
	"strings"

	"gascity/client"
	"gascity/internal/domain/event"
)

// Record saves an event in the event log. If that fails, Record only logs it, with the attributes: what the event reports has
// happened anyway. The end of ctx does not cancel it.
func Record(ctx context.Context, events event.Log, logger *slog.Logger, e client.Event, attributes ...any) {
	if _, err := events.Append(context.WithoutCancel(ctx), e); err != nil {
		logger.With(attributes...).Error("cannot save an event", "kind", e.Kind, "session", e.Session, "error", err)
	}
}

// NewID returns an ID that consists of prefix and 8 letters and digits from random. It tries again as long as taken reports that
// the ID exists.
func NewID(prefix string, random func() string, taken func(id string) bool) string {
	for {
		if id := prefix + strings.ToLower(random()[:8]); !taken(id) {
			return id
		}
	}
}
