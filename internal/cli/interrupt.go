package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/retry"
)

// exitTimeout is how long a controller may take to exit after it has finished its work.
const exitTimeout = 10 * time.Second

// endOf returns a function that reports whether the process of a controller has exited.
// Call endOf while that controller still answers, because another process may get its
// pid later. If the process cannot be found, the function returns true.
func (a *app) endOf(c client.Controller) func() bool {
	if ended, err := a.daemon.Process(c.PID); err == nil {
		return ended
	}
	return func() bool { return true }
}

// awaitGone waits until the controller no longer answers and its process has exited, so
// that its lock is free. It also returns if another controller answers by then. After
// [exitTimeout] the error matches [client.ErrTimeout].
func (a *app) awaitGone(parent context.Context, c *client.Client, was client.Controller, ended func() bool) error {
	ctx, cancel := context.WithTimeout(parent, exitTimeout)
	defer cancel()
	for delay := retry.New(probePause, probePauseMax); ; {
		status, err := c.Status(ctx)
		silent := errors.Is(err, client.ErrNoController) || err == nil && status.Controller.PID != was.PID
		if silent && ended() {
			return nil
		}
		if !delay.Wait(ctx) {
			state := "it still answers"
			if silent {
				state = fmt.Sprintf("its process %d still runs", was.PID)
			}
			return fmt.Errorf("%w: gc has asked the controller to stop, but %s; see .gc/log/controller.log", client.ErrTimeout, state)
		}
	}
}
