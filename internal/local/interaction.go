package local

import (
	"context"
	"errors"
	"time"

	"gascity/internal/console"
	"gascity/internal/journal"
	"gascity/runtime"
)

// Asked keeps the contract of runtime.InteractionProvider.Pending for drivers with a
// terminal.
func (s *Sessions) Asked(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := bounded()
	defer cancel()
	reading, err := s.Sense(ctx, name)
	return reading.Pending, ErrorOf("read pending interaction of", name, err)
}

// Answer keeps the contract of runtime.InteractionProvider.Respond for drivers with a
// terminal. It takes the session's input; a question is answered in the incarnation that
// asks it.
func (s *Sessions) Answer(name string, response runtime.InteractionResponse) error {
	ctx, cancel := bounded()
	defer cancel()
	return s.Drive(ctx, "respond to", name, nil, func(l Live) error {
		f, err := console.Whole(ctx, l.Terminal)
		if err != nil {
			return err
		}
		asked := console.Sense(f, l.Rules, time.Now()).Pending
		if asked == nil || response.RequestID != "" && response.RequestID != l.bind(asked.RequestID) {
			return runtime.ErrInteractionGone
		}
		if response.Action == runtime.ActionText {
			err = s.answerText(ctx, l, asked, response.Text)
		} else {
			err = console.Respond(ctx, l.Terminal, l.Rules, console.Response{
				Request: asked.RequestID, Action: response.Action, Text: response.Text,
			})
		}
		if err != nil {
			return err
		}
		return l.Client.Answered(ctx)
	})
}

// answerText types an answer into the input line of a program that says that it waits for
// one and shows no options.
func (s *Sessions) answerText(ctx context.Context, l Live, asked *runtime.PendingInteraction, text string) error {
	refused := func(why string) error {
		return &runtime.AnswerError{Action: runtime.ActionText, Text: text, Why: why}
	}
	if asked.Metadata[runtime.MetaSource] != string(runtime.SourceStatus) || asked.Kind != runtime.WaitQuestion {
		return refused("it takes no words: choose one of its options")
	}
	if text == "" {
		return refused("there is no text")
	}
	l.Answering, l.Delivery = true, journal.ID("", text)
	out, err := s.deliver(ctx, l, text, 0)
	switch {
	case err != nil:
		return err
	case out.State == runtime.OutcomeSubmitted:
		return nil
	case out.State == runtime.OutcomeAbsent:
		return runtime.ErrSessionNotFound
	case out.State == runtime.OutcomeUnconfirmed:
		return errors.New("the answer was typed and not confirmed: " + out.Detail)
	default:
		return refused(out.Detail)
	}
}

// CheckInstance is nil if the session runs and the token is its incarnation's; the empty
// token is any's.
func (s *Sessions) CheckInstance(ctx context.Context, op, name, token string) error {
	sight, err := s.live(ctx, op, name)
	if err == nil && token != "" && token != sight.Token {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	return err
}
