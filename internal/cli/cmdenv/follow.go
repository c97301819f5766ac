package cmdenv

import (
	"context"
	"io"
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
// false if ctx ended first. A nil early is ignored.
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

// watchEvery is the shortest time between two redraws. ageEvery is the longest additional time:
// ages are redrawn without an event too.
const (
	watchEvery = 200 * time.Millisecond
	ageEvery   = 2 * time.Second
)

// Watch calls show at once, after events, and regularly to update ages. It returns the first
// error of show, or nil when parent ends.
func (d *Base) Watch(parent context.Context, c *client.Client, show func(context.Context) error) error {
	ctx, cancel := context.WithCancel(parent)
	changed, stopped := Changes(ctx, c)
	defer func() { cancel(); <-stopped }()
	if d.IsTerminal(d.Stdout) && !d.JSON {
		if err := d.clear(); err != nil {
			return err
		}
	}
	for {
		err := show(ctx)
		if parent.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if !PauseFor(ctx, watchEvery, nil) || !PauseFor(ctx, ageEvery, changed) {
			return nil
		}
	}
}

// clear clears the terminal on standard output.
func (d *Base) clear() error {
	_, err := io.WriteString(Raw(d.Stdout), "\x1b[2J")
	return err
}
