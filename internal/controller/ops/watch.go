package ops

import (
	"context"
	"errors"
	"time"

	"gascity/runtime"
)

// Listener receives what a provider pushes.
type Listener struct {
	Begun  func()              // events are pushed from now on
	Event  func(runtime.Event) // one of them
	Broken func()              // no more come, and some may have been lost
}

// Watch subscribes to the provider's events until ctx ends, again whenever that
// breaks. It ends at once, after Broken, if the provider cannot push.
func Watch(ctx context.Context, p runtime.Provider, to Listener) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		events, err := runtime.Watch(ctx, p)
		if errors.Is(err, errors.ErrUnsupported) {
			to.Broken()
			return
		}
		if err == nil {
			to.Begun()
			for ev := range events {
				pause = time.Second
				to.Event(ev)
			}
		}
		if ctx.Err() != nil {
			return
		}
		to.Broken()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}
