package runtime

import (
	"context"
	"errors"
	"fmt"
)

// Watcher is the extension of drivers that push what happens.
type Watcher interface {
	// Watch returns a channel of events of all sessions, begun by a
	// [EventResync]. It is closed when ctx ends. A consumer that is too slow
	// loses events but never silently: a resync follows. Several watches may run
	// at once.
	Watch(ctx context.Context) (<-chan Event, error)
}

// Watch subscribes to p's events. Without the extension the error matches
// [errors.ErrUnsupported], and the caller looks at intervals instead.
func Watch(ctx context.Context, p Provider) (<-chan Event, error) {
	if w, ok := As[Watcher](p, ""); ok {
		return w.Watch(ctx)
	}
	return nil, fmt.Errorf("cannot watch sessions: %w", errors.ErrUnsupported)
}
