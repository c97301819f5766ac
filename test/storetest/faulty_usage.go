package storetest

import (
	"context"
	"time"

	"gascity/internal/domain/usage"
)

// PutUsage stores usage entries and returns for each what was stored before and after, unless the
// mode of f makes the call fail or hang. It implements usage.Store.
func (f *Faulty) PutUsage(ctx context.Context, entries []usage.Entry) (kept []usage.StoreResult, err error) {
	err = f.write(ctx, func() error {
		kept, err = f.stores.Usage.PutUsage(ctx, entries)
		return err
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// Usage returns the usage entries since a time, oldest first, unless the mode of f makes the call
// fail or hang. It implements usage.Store.
func (f *Faulty) Usage(ctx context.Context, since time.Time) ([]usage.Entry, error) {
	return list(ctx, f, "usage since "+since.String(), func() ([]usage.Entry, error) { return f.stores.Usage.Usage(ctx, since) })
}
