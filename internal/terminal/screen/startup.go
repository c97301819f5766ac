package screen

import (
	"context"
	"time"

	"gascity/internal/agentcli"
)

// Dialogs is the result of the dialogs that came up.
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
// says what to choose. It is material for a pending question.
type Unanswered struct {
	Kind    agentcli.DialogKind
	Text    string // the screen, without empty rows
	Options []string
	Why     string
}

// startupHandler sees an agent through its start: it answers dialogs and stops at the
// prompt.
//
// A key is pressed only if the program reads keys, has read all that was sent to it, and
// the dialog has stood still for a while: a program draws its first dialog before it acts
// on keys, and drops those that come between. So a key that only moves the highlight is
// pressed again if the program has read it and shows nothing of it for long. The key that
// confirms only is where the rule says so: a second one may reach the next dialog, whatever is
// highlighted there.
type startupHandler struct {
	*Watcher
	rules  Rules
	prompt func(Snapshot, Rules) string
	more   time.Duration // that is left at least after each answer
	blank  time.Time     // how long the end is put off while nothing is on the screen
	dialogs
}

// dialogs is the greeter's memory.
type dialogs struct {
	end      time.Time
	now      *Dialog // on the screen
	pressed  string  // the state that last got a key
	rule     string  // the dialog that it was in
	final    bool    // it was the confirming key
	read     bool    // the program was seen to have read it
	repeats  int     // how often the key of this dialog was pressed again
	keys     int
	answered []Answer
}

const (
	// settleTime is how long a dialog must stand still before its first key.
	settleTime = 300 * time.Millisecond
	// steady is the same for one that has reacted to a key: it may be half painted.
	steady = 50 * time.Millisecond
	// lostAfter is how long a program that was seen to have read a key may show nothing of it
	// before that key counts as dropped. It is looked at as often.
	lostAfter = 1500 * time.Millisecond
	// goneAfter is how long a dialog must be off the screen before the same one
	// counts as a new one and not as a repaint.
	goneAfter = 300 * time.Millisecond
	// maxKeys bounds the keys of one start, maxRepeats those that are pressed again in
	// one dialog.
	maxKeys    = 64
	maxRepeats = 3
)

func newStartupHandler(ctx context.Context, t Terminal, rules Rules, prompt func(Snapshot, Rules) string) (*startupHandler, error) {
	w, err := NewWatcher(ctx, t)
	if err != nil {
		return nil, err
	}
	return &startupHandler{Watcher: w, rules: rules, prompt: prompt}, nil
}

// until follows the screen until the prompt is seen, whose row it returns, or
// end has come.
func (g *startupHandler) until(ctx context.Context, end time.Time) (seen string, err error) {
	g.end = end
	for {
		if g.Snapshot.Exited {
			return "", ErrExited
		}
		g.now = g.Snapshot.Dialog(g.rules)
		wait := g.left()
		if g.now == nil {
			row := g.prompt(g.Snapshot, g.rules)
			switch deaf := g.Snapshot.IsNotReadingKeys(g.rules); {
			case row != "" && !deaf:
				return row, nil
			case row != "":
				wait = min(wait, steady)
			case g.pressed != "":
				wait = min(wait, goneAfter)
			}
		} else if g.answers() {
			wait = min(wait, g.rest())
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

// left returns the time until the end, which does not begin to run before the program has
// drawn something.
func (g *startupHandler) left() time.Duration {
	if g.blank.IsZero() {
		return time.Until(g.end)
	}
	if g.Snapshot.blank() {
		return time.Until(g.blank)
	}
	if next := time.Now().Add(g.more); next.After(g.end) {
		g.end = next
	}
	g.blank = time.Time{}
	return time.Until(g.end)
}

// answers reports whether the dialog on the screen is to get a key.
func (g *startupHandler) answers() bool {
	if !g.rules.AnswerDialogs || g.now.Why != "" || g.keys >= maxKeys {
		return false
	}
	again := !g.final || g.now.rule.Again
	return g.now.state() != g.pressed || again && g.repeats < maxRepeats
}

// rest returns how long the dialog must stand still before its next key.
func (g *startupHandler) rest() time.Duration {
	switch {
	case g.now.state() == g.pressed:
		return lostAfter
	case g.now.Rule == g.rule && g.repeats == 0:
		return steady
	default:
		return settleTime
	}
}

// still is called when the screen has not changed for a while.
func (g *startupHandler) still(ctx context.Context) error {
	if g.now == nil {
		g.pressed, g.rule, g.repeats = "", "", 0
		_, err := g.refresh(ctx) // what it reads may have changed without a new frame
		return err
	}
	if !g.answers() {
		return nil
	}
	state := g.now.state()
	if now, err := g.refresh(ctx); err != nil || now == nil || now.state() != state || !g.acceptsKeys() {
		return err
	}
	name, done, err := g.now.NextKey()
	if err != nil {
		g.now.Why = err.Error()
		return nil //nolint:nilerr // it becomes the reason in the report
	}
	if g.now.Rule != g.rule {
		g.repeats = 0
	}
	if state == g.pressed {
		g.repeats++
	}
	first := state != g.pressed
	g.pressed, g.rule, g.final, g.read = state, g.now.Rule, done, false
	g.keys++
	if done && first {
		g.answered = append(g.answered, Answer{Rule: g.now.Rule, Kind: g.now.Kind, Label: g.now.Options[g.now.At].Label})
		if next := time.Now().Add(g.more); next.After(g.end) {
			g.end = next
		}
	}
	return g.Key(ctx, name)
}

// refresh takes the present frame, for what changes without a new one, and returns its dialog.
func (g *startupHandler) refresh(ctx context.Context) (*Dialog, error) {
	f, err := g.Terminal.Frame(ctx, 0)
	if err != nil {
		return nil, err
	}
	g.Snapshot = NewSnapshot(f)
	return g.Snapshot.Dialog(g.rules), nil
}

// acceptsKeys reports whether a key would reach the dialog, and it alone. One is pressed again
// only if it is known that the program has read the last.
func (g *startupHandler) acceptsKeys() bool {
	if g.Snapshot.Exited || g.Snapshot.Modes.Synchronized || g.Snapshot.IsNotReadingKeys(g.rules) {
		return false
	}
	if g.now.state() != g.pressed {
		return g.Snapshot.Input != InputWaiting
	}
	before := g.read
	g.read = g.Snapshot.Line == LineRaw && g.Snapshot.Input == InputRead
	return before && g.read
}

func (g *startupHandler) report() Dialogs {
	d := Dialogs{Answered: g.answered}
	if g.now == nil {
		return d
	}
	d.Unanswered = g.now.unanswered()
	switch {
	case d.Unanswered.Why != "":
	case !g.rules.AnswerDialogs:
		d.Unanswered.Why = "dialogs are not to be answered"
	case g.now.state() == g.pressed:
		d.Unanswered.Why = "it did not react to a key"
	default:
		d.Unanswered.Why = "its program does not read keys"
	}
	return d
}
