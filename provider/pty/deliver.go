package pty

import (
	"context"

	"gascity/internal/driver/shimdriver"
	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// ClearInput implements runtime.InputClearer.
func (p *Provider) ClearInput(ctx context.Context, name, instance string) error {
	return p.Drive(ctx, "clear the input box of", name, inject.Fence(instance), func(l shimdriver.Live) error { return l.ClearInput(ctx) })
}

// NudgeNow implements runtime.ImmediateNudgeProvider. Nudge of this driver never waits for an idle
// agent, so NudgeNow calls it.
func (p *Provider) NudgeNow(name string, content []runtime.ContentBlock) error {
	return p.Nudge(name, content)
}
