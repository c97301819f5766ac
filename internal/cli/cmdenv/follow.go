package cmdenv

import (
	"context"
	"io"
	"time"

	"gascity/client"
)

// Changes sends whenever an event has come; several are one. stopped is closed
// when the stream is no longer read: after ctx has ended.
func Changes(ctx context.Context, c *client.Client) (changed, stopped chan struct{}) {
	changed, stopped = make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(stopped)
		for _, err := range c.Events(ctx, 0) {
			if err != nil {
				continue // the last one, or a gap: who waits looks in turns too
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed, stopped
}

// PauseFor waits for d or until early is ready; it is false if ctx ends first.
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

// watchEvery is the least time between two redraws, and ageEvery the interval
// at which ages are updated.
const (
	watchEvery = 200 * time.Millisecond
	ageEvery   = 2 * time.Second
)

// Watch calls show at once and whenever something may have changed, until it
// fails or ctx ends, which is how a watch ends.
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

func (d *Base) clear() error {
	_, err := io.WriteString(Raw(d.Stdout), "\x1b[2J")
	return err
}
