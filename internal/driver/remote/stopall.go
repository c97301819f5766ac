package remote

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"gascity/runtime"
)

// What is kept of a grace for ending an agent's processes, and for a turn that is interrupted to be over.
const (
	endReserve    = 7 * time.Second
	interruptWait = 3 * time.Second
)

// StopAll ends all sessions of a place that goes away after grace. An agent in the middle of a turn may
// bring it to its end; when that takes too long it is interrupted, so that the conversation that is resumed
// elsewhere knows of it.
func StopAll(ctx context.Context, p runtime.Provider, grace time.Duration) error {
	names, err := p.ListRunning("")
	errs := make([]error, len(names)+1)
	errs[len(names)] = err
	var sessions sync.WaitGroup
	for i, name := range names {
		sessions.Go(func() {
			waitForTurnEnd(ctx, p, name, grace-endReserve)
			errs[i] = p.Stop(name)
		})
	}
	sessions.Wait()
	return errors.Join(errs...)
}

// waitForTurnEnd returns when no turn of the session is under way, or left is over.
func waitForTurnEnd(ctx context.Context, p runtime.Provider, name string, left time.Duration) {
	if left <= 0 || !isBusy(ctx, p, name) {
		return
	}
	lag := min(interruptWait, left)
	if left > lag && runtime.WaitForIdle(ctx, p, name, left-lag) == nil {
		return
	}
	if p.Interrupt(name) == nil {
		_ = runtime.WaitForIdle(ctx, p, name, lag) // it is ended either way
	}
}

// isBusy reports whether a turn is seen to be under way.
func isBusy(ctx context.Context, p runtime.Provider, name string) bool {
	reading, err := runtime.Sense(ctx, p, name)
	return err == nil && slices.ContainsFunc(reading.Evidence, func(e runtime.Evidence) bool { return e.Activity == runtime.ActivityBusy })
}
