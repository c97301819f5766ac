package controller

import (
	"context"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/session"
)

// storedRecords is the result of reading the store's records. If Err is client.ErrUnavailable,
// nothing could be read. Any other error means that some records could not be read.
type storedRecords struct {
	Records []session.Record
	Err     error
}

// readRecords reads the session records from the store. If the store does not answer within
// [storeTimeout], the result has the error client.ErrUnavailable.
func readRecords(ctx context.Context, store session.Store) storedRecords {
	ctx, cancel := context.WithTimeoutCause(ctx, storeTimeout, fmt.Errorf("no answer within %v", storeTimeout))
	defer cancel()
	answer := make(chan storedRecords, 1)
	go func() { // only a store that ignores ctx keeps this goroutine running
		records, err := store.Load(ctx)
		answer <- storedRecords{records, err}
	}()
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
		return storedRecords{Err: fmt.Errorf("%w: %w", client.ErrUnavailable, context.Cause(ctx))}
	}
}
