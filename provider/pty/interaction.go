package pty

import (
	"context"

	"gascity/internal/console"
	"gascity/internal/local"
	"gascity/runtime"
)

// Pending keeps the contract of runtime.InteractionProvider.
func (p *Provider) Pending(name string) (*runtime.PendingInteraction, error) { return p.Asked(name) }

// Respond keeps the contract of runtime.InteractionProvider.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	return p.Answer(name, response)
}

// Withdraw keeps the contract of runtime.Withdrawer.
func (p *Provider) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	const op = "withdraw a prompt from"
	var token *string
	if d.Instance != "" {
		token = &d.Instance
	}
	taken := false
	err := p.Drive(ctx, op, name, token, func(l local.Live) error {
		text, err := local.PromptText(d.Content)
		if err != nil {
			return err
		}
		left, err := l.Client.Drafts(ctx)
		if err != nil {
			return err
		}
		kept := latest(left, text)
		if len(kept) == len(left) {
			return nil // no delivery of it has come to its first byte, or it was confirmed
		}
		taken, err = console.Withdraw(ctx, l.Terminal, l.Rules, console.Withdrawal{Text: text, Noted: l.Noted})
		if taken {
			_ = l.Client.SetDrafts(ctx, kept...) // a note too many is harmless
		}
		return err
	})
	return taken, err
}
