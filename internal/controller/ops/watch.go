package ops

import (
	"context"
	"errors"
	"time"

	"gascity/internal/retry"
	"gascity/runtime"
)

// Listener receives the events of a provider.
type Listener struct {
	Begun  func()              // events are pushed from now on
	Event  func(runtime.Event) // one event
	Broken func()              // the subscription broke, and events may be lost
}

// Watch subscribes to the provider's events until ctx ends, and subscribes again after each
// failure. If the provider cannot push events, it calls Broken and returns.
func Watch(ctx context.Context, p runtime.Provider, to Listener) {
	for delay := retry.New(time.Second, time.Minute); ; {
		events, err := runtime.Watch(ctx, p)
		if errors.Is(err, errors.ErrUnsupported) {
			to.Broken()
			return
		}
		if err == nil {
			to.Begun()
			for ev := range events {
				delay.Reset()
				to.Event(ev)
			}
		}
		if ctx.Err() != nil {
			return
		}
		to.Broken()
		if !delay.Wait(ctx) {
			return
		}
	}
}
