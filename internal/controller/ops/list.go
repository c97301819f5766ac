package ops

import (
	"context"
	"errors"

	"gascity/runtime"
)

// Listing is what a provider answers when it is asked for all its sessions.
type Listing struct {
	Names   []string
	Err     error
	Partial bool   // Err is about the sessions that are not among Names only
	Closed  string // why nothing can be started there; empty if something can
}

// opener is a provider that may not be there yet. Until it is, it has no sessions.
type opener interface {
	Open(ctx context.Context) error
}

// List lists the running sessions of a provider. One that is not there yet is opened
// first, if it can be.
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
