package cmdenv

import (
	"context"
	"time"

	"gascity/client"
)

// Changes returns a channel that receives a value after new events; events that arrive
// together count once. It reads the stream until ctx ends, then closes stopped.
func Changes(ctx context.Context, c *client.Client) (changed, stopped chan struct{}) {
	changed, stopped = make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(stopped)
		for _, err := range c.Events(ctx, 0) {
			if err != nil {
				continue // the end of the stream, or a gap: callers also poll
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed, stopped
}

// PauseFor waits for the duration d, or until early receives a value or is closed. It returns
// false if ctx ended first.
func PauseFor(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-early:
	case <-timer.C:
	}
	return true
}
