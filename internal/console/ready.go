package console

import (
	"context"
	"errors"
	"time"

	"gascity/internal/agentcli"
)

// ReadyState is how a wait for readiness ended.
type ReadyState string

// The ends.
const (
	ReadyPrompt  ReadyState = "prompt"  // the prompt is on the screen and no dialog is
	ReadyDelay   ReadyState = "delay"   // no prompt is known, the delay has passed
	ReadyTimeout ReadyState = "timeout" // the limit has passed without the prompt; the agent lives
	ReadyBlocked ReadyState = "blocked" // the limit has passed with a dialog up that nobody answered
)

// Readiness is what a wait for readiness saw.
type Readiness struct {
	State ReadyState
	Seen  string // the row with the prompt
	After time.Duration
	Dialogs
}

// Dialogs is what became of the dialogs that came up.
type Dialogs struct {
	Answered   []Answer
	Unanswered *Unanswered // still on the screen at the end; nil if none is
}

// Answer is a dialog that was answered.
type Answer struct {
	Rule  string // the rule's ID
	Kind  agentcli.DialogKind
	Label string // the option that was chosen
}

// Unanswered is a dialog that got no keys: its layout is unknown, or no rule
// says what to choose. It is material for a pending interaction.
type Unanswered struct {
	Kind    agentcli.DialogKind
	Text    string // the screen, without empty rows
	Options []string
	Why     string
}

// Ready waits until the agent's prompt is on the screen and no dialog is,
// judging each frame as it comes; without a ReadyPrefix it waits for the
// ReadyDelay. With AnswerDialogs, known dialogs are answered on the way. The
// wait ends after limit; zero means rules.ReadyLimit(). That end is no error,
// see [Readiness.State]. The error matches [ErrExited] if the agent exited, and
// ctx's error if that ended.
func Ready(ctx context.Context, t Terminal, rules Rules, limit time.Duration) (Readiness, error) {
	return Readiness{}, errors.ErrUnsupported
}

// Dismiss answers the known dialogs that are up or come up, until the prompt is
// on the screen or budget has passed. An unknown dialog gets no keys and is
// reported. Errors are those of [Ready].
func Dismiss(ctx context.Context, t Terminal, rules Rules, budget time.Duration) (Dialogs, error) {
	return Dialogs{}, errors.ErrUnsupported
}
