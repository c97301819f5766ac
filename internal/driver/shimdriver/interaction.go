package shimdriver

import (
	"context"

	"gascity/internal/driver"
	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// Asked implements runtime.InteractionProvider.Pending for drivers with a terminal.
func (s *Sessions) Asked(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	reading, err := s.Sense(ctx, name)
	return reading.Pending, ErrorOf("read pending question of", name, err)
}

// Answer implements runtime.InteractionProvider.Respond for drivers with a terminal. It locks the session's input. It answers a
// question only in the instance that asked it.
func (s *Sessions) Answer(name string, response runtime.InteractionResponse) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	return s.Drive(ctx, "respond to", name, nil, func(l Live) error {
		asked, err := inject.Respond(ctx, l.Terminal, l.Rules, inject.Answer{
			InteractionResponse: response, InstanceID: l.life,
			Deliver: func(ctx context.Context, p inject.Prompt) (runtime.Outcome, error) {
				l.Delivery = inject.DeliveryID("", p.Text)
				return s.deliver(ctx, l, p)
			},
		})
		if err != nil {
			return err
		}
		return l.Client.Answered(ctx, l.life.Add(asked).Last)
	})
}

// CheckInstance returns nil if the session runs and token is the token of its instance. An empty token matches any instance.
func (s *Sessions) CheckInstance(ctx context.Context, op, name, token string) error {
	observed, err := s.live(ctx, op, name)
	if err == nil && token != "" && token != observed.Token {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	return err
}
