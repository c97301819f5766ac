package persist

import (
	"context"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/session"
)

// Recalled is the result of reading the store's records. If Err is client.ErrUnavailable, nothing
// could be read. Any other error means that some records could not be read.
type Recalled struct {
	Records []session.Record
	Err     error
}

// Recall reads the records. It gives up after [Limit].
func Recall(ctx context.Context, store session.Store) Recalled {
	ctx, cancel := context.WithTimeoutCause(ctx, Limit, fmt.Errorf("no answer within %v", Limit))
	defer cancel()
	answer := make(chan Recalled, 1)
	go func() { // only a store that ignores ctx keeps this goroutine running
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
