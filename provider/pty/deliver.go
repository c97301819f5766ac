package pty

import (
	"context"
	"slices"
	"time"

	"gascity/internal/console"
	"gascity/internal/local"
	"gascity/runtime"
)

// deliver types one prompt into the session's terminal. The shim is told before
// what may stand in the input line if this process dies on the way.
func deliver(ctx context.Context, l local.Live, text string, confirm time.Duration) (runtime.Outcome, error) {
	if text == "" {
		return console.Deliver(ctx, l.Terminal, console.Prompt{}, l.Rules)
	}
	left, err := l.Client.Drafts(ctx)
	if err == nil {
		err = l.Client.SetDrafts(ctx, append(latest(left, text), text)...)
	}
	if err != nil {
		return runtime.Outcome{}, err // nothing was sent
	}
	out, err := console.Deliver(ctx, l.Terminal, console.Prompt{Text: text, Confirm: confirm, Leftovers: left, Answer: l.Answering}, l.Rules)
	switch out.State {
	case runtime.OutcomeSubmitted:
		left = nil
	case runtime.OutcomeUnconfirmed:
		left = []string{text}
	default: // not a byte was sent
	}
	// A note too many is harmless: it is compared with the line before it counts.
	_ = l.Client.SetDrafts(context.WithoutCancel(ctx), left...)
	return out, err
}

// maxLeft is how many deliveries that were cut off in a row are remembered, and
// maxLeftBytes how much text of them.
const (
	maxLeft      = 7
	maxLeftBytes = 1 << 20
)

// latest returns the last of the texts, without repetitions and without text.
func latest(texts []string, text string) []string {
	kept := slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == text })
	kept = kept[max(0, len(kept)-maxLeft):]
	size := 0
	for i, t := range slices.Backward(kept) {
		if size += len(t); size > maxLeftBytes {
			return kept[i+1:]
		}
	}
	return kept
}

// NudgeNow keeps the contract of runtime.ImmediateNudgeProvider. A nudge here
// never waits for an idle agent: it is handed over or refused.
func (p *Provider) NudgeNow(name string, content []runtime.ContentBlock) error {
	return p.Nudge(name, content)
}
