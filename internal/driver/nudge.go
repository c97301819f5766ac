package driver

import (
	"context"
	"errors"
	"time"

	"gascity/runtime"
)

// prompt delivers the first prompts: the prompt that was too long for the command line, then cfg.Nudge.
func (r *run) prompt(ctx context.Context) error {
	for _, text := range []string{r.command.typed, r.cfg.Nudge} {
		if text == "" {
			continue
		}
		if err := r.deliver(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// deliver delivers one text to the agent. If the text is refused for now, it tries again at each change of the screen and every
// retryInterval. If the text is not delivered in the end, it reports a warning. It returns an error for a text that can never
// be delivered.
func (r *run) deliver(ctx context.Context, text string) error {
	patience, cancel := context.WithTimeout(ctx, promptRetryTime(ctx))
	defer cancel()
	for {
		shown, err := r.Backend.Terminal().Frame(ctx, 0)
		if err != nil {
			return err
		}
		outcome, err := r.Deliver(ctx, text)
		if err != nil {
			return err
		}
		undelivered := &UndeliveredError{Text: text, Outcome: outcome}
		switch {
		case outcome.State == runtime.OutcomeSubmitted:
			return nil
		case outcome.Reason == runtime.RefusedContent:
			return undelivered
		case outcome.State == runtime.OutcomeAbsent:
			return errors.Join(r.checkAlive(ctx, lastOutputTime), ctx.Err())
		case ctx.Err() != nil:
			return errors.Join(undelivered, context.Cause(ctx))
		case outcome.State != runtime.OutcomeRefused || !r.waitForChange(patience, shown.Seq):
			if ctx.Err() != nil {
				return errors.Join(undelivered, context.Cause(ctx))
			}
			r.warn("prompt", undelivered)
			return r.checkAlive(ctx, 0) // the agent may have exited because of the prompt
		}
	}
}

// promptRetryTime returns how long a refused prompt is tried again. It is less than the time that the start has left: a running
// agent must not count as a failed start only because its input box is in use.
func promptRetryTime(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return promptPatience
	}
	return min(promptPatience, time.Until(deadline)*3/4)
}

// retryInterval is how long after a refusal a prompt is tried again if the screen does not change: a person may have stopped
// typing.
const retryInterval = time.Second

// waitForChange waits until the terminal has changed since seq or retryInterval has passed. It returns false if ctx has ended.
func (r *run) waitForChange(ctx context.Context, seq uint64) bool {
	wait, cancel := context.WithTimeout(ctx, retryInterval)
	defer cancel()
	_, err := r.Backend.Terminal().Frame(wait, seq)
	return ctx.Err() == nil && (err == nil || wait.Err() != nil)
}
