package pty

import (
	"context"
	"time"

	"gascity/internal/console"
	"gascity/internal/local"
	"gascity/runtime"
)

// deliver types one prompt into the session's terminal.
func deliver(ctx context.Context, l local.Live, text string, confirm time.Duration) (runtime.Outcome, error) {
	return console.Deliver(ctx, l.Terminal, console.Prompt{Text: text, Confirm: confirm}, l.Rules)
}

// NudgeNow keeps the contract of runtime.ImmediateNudgeProvider. A nudge here
// never waits for an idle agent: it is handed over or refused.
func (p *Provider) NudgeNow(name string, content []runtime.ContentBlock) error {
	return p.Nudge(name, content)
}
