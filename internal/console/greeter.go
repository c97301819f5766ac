package console

import (
	"context"
	"time"

	"gascity/internal/agentcli"
)

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

// greeter sees an agent through its start: it answers dialogs and stops at the
// prompt.
//
// It presses one key for each state of a dialog, and never the same one again:
// a key that seems lost may only be late, and a second one would reach the next
// dialog, whatever is highlighted there.
type greeter struct {
	*Watch
	rules  Rules
	prompt func(View, Rules) string
	dialogs
}

// dialogs is the greeter's memory.
type dialogs struct {
	now      *Dialog // on the screen
	pressed  string  // the state that last got a key
	keys     int
	answered []Answer
}

const (
	// steady is how long a dialog must stand still before it gets a key: it may
	// be half painted, or its program not yet reading keys.
	steady = 50 * time.Millisecond
	// gone is how long a dialog must be off the screen before the same one
	// counts as a new one and not as a repaint.
	gone = 300 * time.Millisecond
	// maxKeys bounds the keys of one start.
	maxKeys = 64
)

func greet(ctx context.Context, t Terminal, rules Rules, prompt func(View, Rules) string) (*greeter, error) {
	w, err := Follow(ctx, t)
	if err != nil {
		return nil, err
	}
	return &greeter{Watch: w, rules: rules, prompt: prompt}, nil
}

// until follows the screen until the prompt is seen, whose row it returns, or
// end has come.
func (g *greeter) until(ctx context.Context, end time.Time) (seen string, err error) {
	for {
		if g.View.Exited {
			return "", ErrExited
		}
		g.now = g.View.Dialog(g.rules)
		wait := time.Until(end)
		if g.now == nil {
			if row := g.prompt(g.View, g.rules); row != "" {
				return row, nil
			}
			if g.pressed != "" {
				wait = min(wait, gone)
			}
		} else if g.answers() {
			wait = min(wait, steady)
		}
		if wait <= 0 {
			return "", ctx.Err()
		}
		changed, err := g.Next(ctx, wait)
		if err != nil {
			return "", err
		}
		if changed {
			continue
		}
		if err := g.still(ctx); err != nil {
			return "", err
		}
	}
}

// answers reports whether the dialog on the screen is to get a key.
func (g *greeter) answers() bool {
	return g.rules.AnswerDialogs && g.now.Why == "" && g.now.state() != g.pressed && g.keys < maxKeys
}

// still is called when the screen has not changed for a while.
func (g *greeter) still(ctx context.Context) error {
	if g.now == nil {
		g.pressed = ""
		return nil
	}
	if !g.answers() {
		return nil
	}
	name, done, err := g.now.NextKey()
	if err != nil {
		g.now.Why = err.Error()
		return nil //nolint:nilerr // it becomes the reason in the report
	}
	g.pressed = g.now.state()
	g.keys++
	if done {
		g.answered = append(g.answered, Answer{Rule: g.now.Rule, Kind: g.now.Kind, Label: g.now.Options[g.now.At].Label})
	}
	return g.Key(ctx, name)
}

func (g *greeter) report() Dialogs {
	d := Dialogs{Answered: g.answered}
	if g.now == nil {
		return d
	}
	d.Unanswered = g.now.unanswered()
	switch {
	case d.Unanswered.Why != "":
	case !g.rules.AnswerDialogs:
		d.Unanswered.Why = "dialogs are not to be answered"
	default:
		d.Unanswered.Why = "it did not react to a key"
	}
	return d
}
