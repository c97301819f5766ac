package prompts

import (
	"context"
	"errors"
	"slices"

	"gascity/internal/domain/prompt"
)

// moveWaiting moves the queued prompts of a session to the session that its renamed agent has next.
// Each prompt is moved in one operation of the store, so it is never in two queues. A prompt that
// is being delivered stays and finishes here.
func (o *owner) moveWaiting(ctx context.Context, session, agent string) error {
	b := o.queue
	if err := b.begin(ctx); err != nil {
		return err
	}
	defer b.end()
	waiting := slices.DeleteFunc(o.open(b), func(r *prompt.Receipt) bool { return !r.IsQueued() || r.ID == o.currentOp })
	slices.SortFunc(waiting, func(x, y *prompt.Receipt) int { return int(x.Seq) - int(y.Seq) })
	for _, r := range waiting {
		moved, now := *r, o.opts.Now()
		from := moved.Agent
		moved.Session, moved.Agent, moved.UpdatedAt = session, agent, now
		if moved.Conversation == "" {
			moved.Instance = "" // with a conversation, the prompt waits until that is resumed
		}
		if moved.ByFile != "" {
			if err := o.opts.Texts.Remove(b.session, r.ID); err != nil {
				o.opts.Logger.Warn("cannot remove the file with the text of a prompt", "receipt", r.ID, "error", err)
			}
			moved.ByFile = ""
		}
		moved.Reason = "its agent was renamed"
		if from != agent {
			moved.Reason += " from " + from
		}
		moved.Steps = append(slices.Clone(moved.Steps), prompt.Step{State: moved.State, At: now, Detail: moved.Reason})
		saved := moved
		saved.Content = nil // the store has it
		err := o.save(ctx, saved, o.opts.Store.MoveReceipt)
		if err != nil && !errors.Is(err, prompt.ErrEnded) && !errors.Is(err, prompt.ErrUnknown) {
			return err
		}
		o.mu.Lock()
		o.dropLocked(b, r.ID)
		delete(b.files, r.ID)
		if err == nil {
			o.putLocked(o.queueLocked(session, agent), moved)
		}
		o.mu.Unlock()
	}
	return nil
}
