package inject

import (
	"context"
	"errors"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Answer is an answer to the question of a session. Deliver delivers a text into the session's input box.
type Answer struct {
	runtime.InteractionResponse

	InstanceID screen.Life
	Deliver    func(ctx context.Context, p Prompt) (runtime.Outcome, error)
}

// Respond answers the question that is on the agent's screen. It selects one of the options with keys. It types a text only
// if the program reports that it waits for an answer and shows no options.
//
// The error is [runtime.ErrInteractionGone] if there is no question or another one, and a [*runtime.AnswerError] if the
// answer does not fit the question; in both cases nothing was typed. The caller holds the session's input lock. It must
// add the returned request, the name of the question in [screen.Sense], to the session's screen.Life.
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

// typeText delivers the text of the answer and returns an error unless it was submitted.
func (a Answer) typeText(ctx context.Context, asked *runtime.PendingInteraction) error {
	refused := func(why string) error {
		return &runtime.AnswerError{Action: runtime.ActionText, Text: a.Text, Why: why}
	}
	if asked.Metadata[runtime.MetaSource] != string(runtime.SourceStatus) || asked.Kind != runtime.WaitQuestion {
		return refused("the question accepts no text: choose one of its options")
	}
	if a.Text == "" {
		return refused("the text is empty")
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
		return errors.New("the answer was typed, but nothing shows that the agent accepted it: " + out.Detail)
	default:
		return refused(out.Detail)
	}
}
