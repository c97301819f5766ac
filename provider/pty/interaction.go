package pty

import "gascity/runtime"

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(name string) (*runtime.PendingInteraction, error) { return p.Asked(name) }

// Respond implements runtime.InteractionProvider.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	return p.Answer(name, response)
}
