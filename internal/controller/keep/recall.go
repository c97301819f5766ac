package keep

import (
	"context"
	"fmt"

	"gascity/internal/session"
)

// Recalled is one reading of the store's records. Some may be there beside an
// error.
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
		return Recalled{Err: context.Cause(ctx)}
	}
}
