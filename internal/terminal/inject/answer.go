package inject

import (
	"context"
	"errors"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Answer is an answer to what a session asks. Say delivers a text into its input box.
type Answer struct {
	runtime.InteractionResponse

	InstanceID screen.Life
	Deliver    func(ctx context.Context, p Prompt) (runtime.Outcome, error)
}

// Respond answers the question that stands on the screen, if it is the one that is meant:
// by a key on one of its options, or by a text, where the program says that it waits for
// one and shows no options. [runtime.ErrInteractionGone] if another question stands or
// none, a [*runtime.AnswerError] if it cannot be answered so: then nothing was typed. The caller
// has the session's input, and adds the returned name of the question, as [screen.Sense]
// has it, to the session's life afterwards.
func Respond(ctx context.Context, t screen.Terminal, rules screen.Rules, a Answer) (request string, err error) {
	asked, err := screen.Standing(ctx, t, rules, func(request string) bool {
		return a.RequestID == "" || a.RequestID == a.InstanceID.Bind(request)
	})
	if err != nil {
		return "", err
	}
	if a.Action == runtime.ActionText {
		return asked.RequestID, a.typeText(ctx, asked)
	}
	return asked.RequestID, screen.Respond(ctx, t, rules, screen.Response{Request: asked.RequestID, Action: a.Action, Text: a.Text})
}

func (a Answer) typeText(ctx context.Context, asked *runtime.PendingInteraction) error {
	refused := func(why string) error {
		return &runtime.AnswerError{Action: runtime.ActionText, Text: a.Text, Why: why}
	}
	if asked.Metadata[runtime.MetaSource] != string(runtime.SourceStatus) || asked.Kind != runtime.WaitQuestion {
		return refused("it takes no words: choose one of its options")
	}
	if a.Text == "" {
		return refused("there is no text")
	}
	out, err := a.Deliver(ctx, Prompt{Text: a.Text, Answer: true})
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
