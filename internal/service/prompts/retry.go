package prompts

import (
	"context"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/runtime"
)

// RetryPrompt sends the prompt of an ended receipt again, as a new prompt whose receipt names the
// old one. The new prompt is for the instance that runs now, or the next one. RetryPrompt returns
// client.ErrRefused if the receipt has not ended, if a turn worked on the prompt, or if the agent
// may have got it and req.Force is not set.
func (e *Engine) RetryPrompt(ctx context.Context, id string, req client.RetryRequest) (client.Receipt, error) {
	old, _, err := e.read(ctx, id)
	if err != nil {
		return client.Receipt{}, err
	}
	if err := mayRetry(old, req.Force); err != nil {
		return client.Receipt{}, err
	}
	if old.Content == nil { // an open receipt in memory may have no content
		if old, err = e.opts.Store.Receipt(ctx, id); err != nil {
			return client.Receipt{}, fmt.Errorf("%w: cannot read the prompt %s: %w", client.ErrUnavailable, id, err)
		}
	}
	if len(old.Content) == 0 {
		return client.Receipt{}, fmt.Errorf("%w: the text of the prompt %s is no longer stored; send it again with: gc send %s", client.ErrRefused, id, old.Agent)
	}
	again := client.NudgeRequest{
		Text: runtime.FlattenText(textOf(old.Content)), Files: filesOf(old.Content), Priority: priorityWord(old.Priority), Key: req.Key, Source: req.Source,
		Metadata: old.Metadata, Literal: old.Literal, AllowChanges: req.AllowChanges || old.AllowChanges, Successor: old.Successor, TTL: old.ExpiresAt.Sub(old.CreatedAt),
	}
	return e.nudge(ctx, old.Session, again, old.ID)
}

// mayRetry returns the error that refuses a retry, or nil if the prompt may be sent again.
func mayRetry(r prompt.Receipt, force bool) error {
	switch r.State {
	case prompt.Dead, prompt.Expired, prompt.Cancelled:
		return nil
	case prompt.Consumed:
		return fmt.Errorf("%w: a turn of %s has worked on the prompt %s; to send the same text as a new prompt: gc send %s", client.ErrRefused, r.Agent, r.ID, r.Agent)
	case prompt.Unconfirmed, prompt.Submitted:
		if force {
			return nil
		}
		may := "may have got"
		if r.State == prompt.Submitted {
			may = "has accepted"
		}
		return fmt.Errorf("%w: %s %s the prompt %s, and a retry may deliver it a second time; look with gc peek %s, then: gc queue retry %s --force", client.ErrRefused, r.Agent, may, r.ID, r.Agent, r.ID)
	default:
		return fmt.Errorf("%w: the prompt %s is %s and needs no retry; to see what it waits for: gc receipt %s", client.ErrRefused, r.ID, r.State, r.ID)
	}
}

// textOf returns the text blocks of the content.
func textOf(blocks []runtime.ContentBlock) []runtime.ContentBlock {
	var texts []runtime.ContentBlock
	for _, b := range blocks {
		if b.Type != runtime.ContentFilePath {
			texts = append(texts, b)
		}
	}
	return texts
}
