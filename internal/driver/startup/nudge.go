package startup

import (
	"context"
	"errors"
	"time"

	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// prompt delivers the first prompts: the one that did not fit the command line,
// then cfg.Nudge.
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

// deliver brings one text to the agent. A refusal for now is tried again with
// each change of the screen; what cannot be delivered in the end is a warning,
// except for a text that never can be.
func (r *run) deliver(ctx context.Context, text string) error {
	patience, cancel := context.WithTimeout(ctx, patienceIn(ctx))
	defer cancel()
	for {
		var seq uint64
		if t := r.Backend.Terminal(); t != nil {
			f, err := t.Frame(ctx, 0)
			if err != nil {
				return err
			}
			seq = f.Seq
		}
		outcome, err := r.send(ctx, text)
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
			return errors.Join(r.outlives(ctx, lastOutputTime), ctx.Err())
		case ctx.Err() != nil:
			return errors.Join(undelivered, context.Cause(ctx))
		case outcome.State != runtime.OutcomeRefused || !r.changes(patience, seq):
			if ctx.Err() != nil {
				return errors.Join(undelivered, context.Cause(ctx))
			}
			r.warn("prompt", undelivered)
			return r.outlives(ctx, 0) // it may have ended over it
		}
	}
}

// patienceIn returns how long a refused prompt is tried again. It leaves a part of the
// time that the start has: an agent that runs is no failed start because its input
// box is taken.
func patienceIn(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return promptPatience
	}
	return min(promptPatience, time.Until(deadline)*3/4)
}

func (r *run) send(ctx context.Context, text string) (runtime.Outcome, error) {
	if r.Deliver != nil {
		return r.Deliver(ctx, text)
	}
	t := r.Backend.Terminal()
	if t == nil {
		return runtime.Outcome{State: runtime.OutcomeUnsupported, Detail: "the session has no terminal"}, nil
	}
	return inject.Type(ctx, t, inject.Prompt{Text: text, AllowChanges: true}, r.rules())
}

// again is how long after a refusal a prompt is tried again on a screen that
// does not change: a person may have stopped typing.
const again = time.Second

// changes waits until the terminal has changed since seq, or a moment has
// passed; false when ctx has ended.
func (r *run) changes(ctx context.Context, seq uint64) bool {
	t := r.Backend.Terminal()
	if t == nil {
		return false
	}
	wait, cancel := context.WithTimeout(ctx, again)
	defer cancel()
	_, err := t.Frame(wait, seq)
	return ctx.Err() == nil && (err == nil || wait.Err() != nil)
}
