package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/client"
)

// exitTimeout is how long a controller that has done its work may take to exit.
const exitTimeout = 10 * time.Second

// endOf returns a function that says whether the process of a controller has
// ended. It is called while that controller still answers: its pid may belong to
// somebody else later. What cannot be looked at counts as ended.
func (a *app) endOf(c client.Controller) func() bool {
	if a.assembly != nil {
		if ended, err := a.assembly.Process(c.PID); err == nil {
			return ended
		}
	}
	return func() bool { return true }
}

// awaitGone waits until the controller no longer answers and its process has
// ended: who comes after it may use its lock and remove its city. Another
// controller may answer instead: somebody was waiting to start it.
func (a *app) awaitGone(parent context.Context, c *client.Client, was client.Controller, ended func() bool) error {
	ctx, cancel := context.WithTimeout(parent, exitTimeout)
	defer cancel()
	for pause := probePause; ; pause = min(2*pause, probePauseMax) {
		status, err := c.Status(ctx)
		mute := errors.Is(err, client.ErrNoController) || err == nil && status.Controller.PID != was.PID
		if mute && ended() {
			return nil
		}
		select {
		case <-ctx.Done():
			state := "still answers"
			if mute {
				state = fmt.Sprintf("still runs as process %d", was.PID)
			}
			return fmt.Errorf("%w: the controller has done its work but %s; see .gc/log/controller.log", client.ErrTimeout, state)
		case <-time.After(pause):
		}
	}
}
