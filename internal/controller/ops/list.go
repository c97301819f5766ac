package ops

import (
	"context"
	"errors"

	"gascity/runtime"
)

// Listing is the result of listing all sessions of a provider.
type Listing struct {
	Names   []string
	Err     error
	Partial bool   // Err concerns only sessions that are not in Names
	Closed  string // why no session can be started there; empty: sessions can be started
}

// opener is a provider that is opened later. Until then it has no sessions.
type opener interface {
	Open(ctx context.Context) error
}

// List opens the provider if it opens late, and returns its running sessions.
func List(ctx context.Context, p runtime.Provider) (l Listing) {
	if late, ok := runtime.As[opener](p, ""); ok {
		if err := late.Open(ctx); err != nil {
			l.Closed = err.Error()
		}
	}
	l.Names, l.Err = p.ListRunning("")
	_, l.Partial = errors.AsType[*runtime.PartialListError](l.Err)
	return l
}
