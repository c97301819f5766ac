package workers

import (
	"context"
	"time"

	"gascity/runtime"
	"gascity/worker"
)

const (
	// commandQuiet is how long the terminal must be quiet after a typed command. Then gc assumes
	// that the command has no effect that the worker reports.
	commandQuiet = 5 * time.Second
	// commandLimit is the longest wait for the effect of a command if the terminal is never quiet.
	commandLimit = 30 * time.Second
	// commandBlock is how long one delivery attempt waits for the effect of a command. Then it
	// refuses the prompt, and a later attempt tries again.
	commandBlock = 10 * time.Second
)

// typedCommand is a command of the agent CLI that was typed into its terminal. The agent's worker
// does not get it, so a prompt on the stream could arrive before its effect.
type typedCommand struct {
	began time.Time // the time before the first byte of the command; zero: no command
	ended time.Time // when the delivery of the command ended; zero: it is not finished
}

// typeCommand delivers a prompt that is a command of the agent CLI by the underlying runtime provider,
// which types it. It records the command before the first byte is written, so that a later
// controller also waits for the effect of the command. It removes the record if the agent certainly
// did not get the command.
func (c *channel) typeCommand(ctx context.Context, underlying runtime.Provider, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := c.run
	a.mu.Lock()
	before, streamed := a.command, a.streamed
	a.command = typedCommand{began: a.engine.opts.Now()}
	a.mu.Unlock()
	out, err := c.sendCommand(ctx, underlying, name, d, streamed)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch out.State {
	case runtime.OutcomeRefused, runtime.OutcomeAbsent, runtime.OutcomeUnsupported:
		a.command = before
	default:
		a.command.ended = a.engine.opts.Now() // ignored if no command is recorded
	}
	return out, err
}

// sendCommand delivers a command by the underlying runtime provider. If the worker has a stream, it first
// saves the record of the command. If the save fails, it sends nothing.
func (c *channel) sendCommand(ctx context.Context, underlying runtime.Provider, name string, d runtime.Delivery, streamed bool) (runtime.Outcome, error) {
	if streamed { // without a stream all prompts are typed, so none can arrive early
		if err := c.run.saveMemoryTo(c.Provider); err != nil {
			return unsent(err), nil
		}
	}
	return runtime.Deliver(ctx, underlying, name, d)
}

// clearCommandLocked removes the record of a typed command when the worker reports ready after the
// command was typed: the report is the effect of the command.
func (a *liveRun) clearCommandLocked(r worker.Lifecycle, now time.Time) {
	if r.Timestamp.IsZero() {
		r.Timestamp = now
	}
	if r.Event == worker.Ready && r.Timestamp.After(a.command.began) {
		a.command = typedCommand{}
	}
}

// awaitCommand waits until a command that was typed before has had its effect, or until the
// terminal has been quiet for [commandQuiet]. Then it returns nil, and the next prompt may be sent.
// Otherwise it returns the outcome with which the next prompt is refused for now.
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
			out := refused(runtime.RefusedUnready, "gc typed a command before this prompt and has not seen the effect of the command yet")
			return &out
		}
	}
}

// commandDue returns the time from which a prompt may be sent although the worker has not reported
// any effect of the typed command.
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
