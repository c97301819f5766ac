package shimdriver

import (
	"context"

	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/inputlog"
	"gascity/runtime"
)

// Asked implements runtime.InteractionProvider.Pending for drivers with a
// terminal.
func (s *Sessions) Asked(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := bounded()
	defer cancel()
	reading, err := s.Sense(ctx, name)
	return reading.Pending, ErrorOf("read pending question of", name, err)
}

// Answer implements runtime.InteractionProvider.Respond for drivers with a
// terminal. It takes the session's input; a question is answered in the instance that
// asks it.
func (s *Sessions) Answer(name string, response runtime.InteractionResponse) error {
	ctx, cancel := bounded()
	defer cancel()
	return s.Drive(ctx, "respond to", name, nil, func(l Live) error {
		asked, err := inject.Respond(ctx, l.Terminal, l.Rules, inject.Answer{
			InteractionResponse: response, InstanceID: l.life,
			Deliver: func(ctx context.Context, p inject.Prompt) (runtime.Outcome, error) {
				l.Delivery = inputlog.ID("", p.Text)
				return s.deliver(ctx, l, p)
			},
		})
		if err != nil {
			return err
		}
		return l.Client.Answered(ctx, l.life.Add(asked).Last)
	})
}

// CheckInstance is nil if the session runs and the token is its instance's; the empty
// token is any's.
func (s *Sessions) CheckInstance(ctx context.Context, op, name, token string) error {
	sight, err := s.live(ctx, op, name)
	if err == nil && token != "" && token != sight.Token {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	return err
}
