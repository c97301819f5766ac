package workers

import (
	"context"
	"time"

	"gascity/runtime"
	"gascity/worker"
)

const (
	// commandQuiet is how long a terminal must have been at rest after a command before the
	// command counts as one that changes nothing that the worker reports.
	commandQuiet = 5 * time.Second
	// commandLimit bounds the wait for the effect of a command whose terminal never rests.
	commandLimit = 30 * time.Second
	// commandBlock is how long one attempt waits; the prompt is then tried again later.
	commandBlock = 10 * time.Second
)

// typedCommand is a command of the agent CLI that was typed into its terminal. The agent's
// worker does not get it, so a prompt by the stream could overtake it.
type typedCommand struct {
	began time.Time // before its first byte; zero: there is none
	ended time.Time // when its delivery ended; zero: it has not
}

// typeCommand delivers a command by the place. It is noted before its first byte, also for a
// later controller, and forgotten if the agent provably did not get it.
func (c *channel) typeCommand(ctx context.Context, below runtime.Provider, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	a.mu.Lock()
	before, streamed := a.command, a.streamed
	a.command = typedCommand{began: a.engine.opts.Now()}
	a.mu.Unlock()
	out, err := c.sendCommand(ctx, below, name, d, streamed)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch out.State {
	case runtime.OutcomeRefused, runtime.OutcomeAbsent, runtime.OutcomeUnsupported:
		a.command = before
	default:
		a.command.ended = a.engine.opts.Now() // of the zero command it means nothing
	}
	return out, err
}

// sendCommand is typeCommand after the command was noted.
func (c *channel) sendCommand(ctx context.Context, below runtime.Provider, name string, d runtime.Delivery, streamed bool) (runtime.Outcome, error) {
	if streamed { // the prompts of another agent are all typed
		if err := c.run.remember(c.Provider); err != nil {
			return unsent(err), nil
		}
	}
	return runtime.Deliver(ctx, below, name, d)
}

// commandSeenLocked takes a report that the agent takes prompts, in another conversation, as the
// effect of the command that was typed before it.
func (a *liveRun) commandSeenLocked(r worker.Lifecycle, now time.Time) {
	if r.Timestamp.IsZero() {
		r.Timestamp = now
	}
	if r.Event == worker.Ready && r.Timestamp.After(a.command.began) {
		a.command = typedCommand{}
	}
}

// awaitCommand waits until the effect of the command that was typed last is seen, or until the
// terminal has been at rest for commandQuiet without one. An outcome says that the prompt must
// not be sent now.
func (c *channel) awaitCommand(ctx context.Context, name string) *runtime.Outcome {
	a := c.run
	block, cancel := context.WithTimeout(ctx, commandBlock)
	defer cancel()
	for {
		a.mu.Lock()
		typed, changed, over := a.command, a.changed, a.ended
		a.mu.Unlock()
		if typed.began.IsZero() || over {
			return nil
		}
		now := a.engine.opts.Now()
		due := c.commandDue(ctx, name, typed)
		if !now.Before(due) {
			a.mu.Lock()
			if a.command == typed {
				a.command = typedCommand{}
			}
			a.mu.Unlock()
			return nil
		}
		timer := time.NewTimer(due.Sub(now))
		select {
		case <-changed:
		case <-timer.C:
		case <-block.Done():
		}
		timer.Stop()
		switch {
		case ctx.Err() != nil:
			out := unsent(ctx.Err())
			return &out
		case block.Err() != nil:
			out := refused(runtime.RefusedUnready, "a command was typed before it, and its effect is not seen yet")
			return &out
		}
	}
}

// commandDue returns when a prompt may go although no effect of the command was seen.
func (c *channel) commandDue(ctx context.Context, name string, typed typedCommand) time.Time {
	quiet, limit := typed.ended, typed.ended.Add(commandLimit)
	if seen, err := runtime.Observe(ctx, c.Provider, name); err == nil && seen.LastActivity.After(quiet) {
		quiet = seen.LastActivity
	}
	if due := quiet.Add(commandQuiet); due.Before(limit) {
		return due
	}
	return limit
}
