package console

import (
	"context"
	"errors"
	"time"

	"gascity/runtime"
)

// DefaultConfirm bounds the wait for evidence after Enter.
const DefaultConfirm = 5 * time.Second

// Prompt is a text on its way to the agent.
type Prompt struct {
	Text string
	// Confirm bounds the wait for evidence after Enter; zero is DefaultConfirm.
	Confirm time.Duration
}

// Deliver brings one prompt to the agent: it looks whether the prompt can be
// taken now, pastes it in one piece, waits until the paste is on the screen,
// presses Enter as the profile settles it, and waits for evidence. What became
// of it is in the outcome; a refusal means that not a byte was sent. The text is
// sent once, whatever happens; Enter is repeated only while the input line still
// holds exactly our text. Empty text is submitted without doing anything.
//
// The error matches [ErrExited] (the outcome then says whether the text may have
// been taken) or is a failure of the terminal or the end of ctx at an unknown
// point. There is no deadline for the paste itself but ctx: a long text takes as
// long as the program takes to read it.
func Deliver(ctx context.Context, t Terminal, prompt Prompt, rules Rules) (runtime.Outcome, error) {
	return runtime.Outcome{}, errors.ErrUnsupported
}
