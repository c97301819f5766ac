package remote

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"gascity/runtime"
)

// Parts of the grace of StopAll: endReserve is kept for stopping processes, interruptWait for a turn to end after an interrupt.
const (
	endReserve    = 7 * time.Second
	interruptWait = 3 * time.Second
)

// StopAll stops all sessions of the provider within grace. An agent in the middle of a turn may finish it. If that takes too
// long, the turn is interrupted first, so that the conversation records the interruption when it is resumed elsewhere.
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

// waitForTurnEnd waits until the session has no turn in progress, for at most the time left. It interrupts the turn shortly
// before that.
func waitForTurnEnd(ctx context.Context, p runtime.Provider, name string, left time.Duration) {
	if left <= 0 || !isBusy(ctx, p, name) {
		return
	}
	lag := min(interruptWait, left)
	if left > lag && runtime.WaitForIdle(ctx, p, name, left-lag) == nil {
		return
	}
	if p.Interrupt(name) == nil {
		_ = runtime.WaitForIdle(ctx, p, name, lag) // the session is stopped in any case
	}
}

// isBusy reports whether there is evidence that a turn is in progress.
func isBusy(ctx context.Context, p runtime.Provider, name string) bool {
	reading, err := runtime.Sense(ctx, p, name)
	return err == nil && slices.ContainsFunc(reading.Evidence, func(e runtime.Evidence) bool { return e.Activity == runtime.ActivityBusy })
}
