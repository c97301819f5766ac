package usage

import (
	"context"
	"reflect"
	"time"
)

// Store stores usage entries. Safe for concurrent use.
//
// An error that matches client.ErrUnavailable means that the store cannot be used now. The entries
// of the failed call may be stored nevertheless. The caller stores them again, which has no effect
// if they were stored.
type Store interface {
	// PutUsage stores all entries or none. An entry whose key is already stored is combined with
	// the stored one by [Merge]. The results have the order of the entries. When PutUsage returns,
	// the entries survive an exit of the process.
	PutUsage(ctx context.Context, entries []Entry) ([]StoreResult, error)
	// Usage returns the entries since a time, oldest first; all entries if it is zero. The error
	// names entries that cannot be read; the others are returned together with the error.
	Usage(ctx context.Context, since time.Time) ([]Entry, error)
}

// StoreResult is the result of storing an entry.
type StoreResult struct {
	Before *Entry // the stored entry with the same key before; nil: none
	After  Entry
}

// Changed reports whether the entry changed what is stored.
func (k StoreResult) Changed() bool { return k.Before == nil || !reflect.DeepEqual(*k.Before, k.After) }
