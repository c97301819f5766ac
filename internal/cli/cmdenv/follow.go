package cmdenv

import (
	"context"
	"sync"
	"time"

	"gascity/client"
)

// Changes returns a channel that receives a value after new events; events that arrive
// together count once. The caller calls stop at the end.
func Changes(parent context.Context, c *client.Client) (changed <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	news := make(chan struct{}, 1)
	var reader sync.WaitGroup
	reader.Go(func() {
		for _, err := range c.Events(ctx, 0) {
			if err != nil {
				continue // the end of the stream, or a gap: callers also poll
			}
			select {
			case news <- struct{}{}:
			default:
			}
		}
	})
	return news, func() { cancel(); reader.Wait() }
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
