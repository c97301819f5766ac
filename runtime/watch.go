package runtime

import (
	"context"
	"errors"
	"fmt"
)

// Watcher is the extension of drivers that send events.
type Watcher interface {
	// Watch returns a channel with the events of all sessions. The first event is an [EventResync].
	// The channel is closed when ctx ends. A receiver that is too slow loses events, and then gets
	// a resync event. Several watches may run at once.
	Watch(ctx context.Context) (<-chan Event, error)
}

// Watch subscribes to p's events. Without the extension the error matches [errors.ErrUnsupported],
// and the caller observes at intervals instead.
func Watch(ctx context.Context, p Provider) (<-chan Event, error) {
	if w, ok := As[Watcher](p, ""); ok {
		return w.Watch(ctx)
	}
	return nil, fmt.Errorf("cannot watch sessions: %w", errors.ErrUnsupported)
}
