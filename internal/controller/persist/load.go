package persist

import (
	"context"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/session"
)

// Recalled is one reading of the store's records. An error that is
// client.ErrUnavailable says that nothing could be read; any other one, that some
// records could not.
type Recalled struct {
	Records []session.Record
	Err     error
}

// Recall reads the records; a store that hangs is given up after [Limit].
func Recall(ctx context.Context, store session.Store) Recalled {
	ctx, cancel := context.WithTimeoutCause(ctx, Limit, fmt.Errorf("no answer within %v", Limit))
	defer cancel()
	answer := make(chan Recalled, 1)
	go func() { // a store that ignores ctx keeps it; nothing else does
		records, err := store.Load(ctx)
		answer <- Recalled{records, err}
	}()
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
		return Recalled{Err: fmt.Errorf("%w: %w", client.ErrUnavailable, context.Cause(ctx))}
	}
}
