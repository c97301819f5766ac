package screen

import (
	"context"
	"time"

	"gascity/internal/agentcli"
)

// Dialogs lists the dialogs that appeared during a wait.
type Dialogs struct {
	Answered   int         // the number of answered dialogs
	Unanswered *Unanswered // still on the screen at the end; nil if none is
}

// Unanswered is a dialog that was not answered, with the reason in Why. Callers report it as a pending question.
type Unanswered struct {
	Kind    agentcli.DialogKind
	Text    string // the screen, without empty rows
	Options []string
	Why     string
}

// startupHandler answers the dialogs of an agent that starts, until its prompt is on the screen.
//
// It presses a key only if the program reads keys, has read all earlier input, and the dialog has not changed for a while.
// A program may draw its first dialog before it handles keys, and drop keys until then. Therefore a key that moves the
// highlight is repeated if the program has read it and the screen does not change for lostAfter. The confirming key is
// repeated only if the rule allows it, because a second one could confirm the next dialog.
type startupHandler struct {
	*Watcher
	rules  Rules
	prompt func(Snapshot, Rules) bool
	more   time.Duration // the minimum time until the end after each answer
	blank  time.Time     // the time until which the end is postponed while the screen is empty

	end      time.Time
	now      *Dialog // the dialog on the screen; nil if none
	pressed  string  // the state of the dialog at the last key
	rule     string  // the rule of that dialog
	final    bool    // the last key was the confirming one
	read     bool    // the program has read the last key
	repeats  int     // the number of repeated keys in this dialog
	keys     int     // the number of all keys
	answered int     // the number of answered dialogs
}

const (
	// settleTime is the time that a dialog must not change before its first key.
	settleTime = 300 * time.Millisecond
	// steady replaces settleTime for a dialog that has reacted to a key: it may be half drawn.
	steady = 50 * time.Millisecond
	// lostAfter is the time without a change after which a key that the program has read counts as dropped. It is also the
	// interval of these checks.
	lostAfter = 1500 * time.Millisecond
	// goneAfter is the time that a dialog must be off the screen before the same dialog counts as a new one.
	goneAfter = 300 * time.Millisecond
	// maxKeys is the limit of keys in one start, maxRepeats the limit of repeated keys in one dialog.
	maxKeys    = 64
	maxRepeats = 3
)

// newStartupHandler returns a handler that watches a terminal while its agent starts. prompt reports
// whether a screen shows the agent's ready input prompt.
func newStartupHandler(ctx context.Context, t Terminal, rules Rules, prompt func(Snapshot, Rules) bool) (*startupHandler, error) {
	w, err := NewWatcher(ctx, t)
	if err != nil {
		return nil, err
	}
	return &startupHandler{Watcher: w, rules: rules, prompt: prompt}, nil
}

// until answers dialogs until the prompt is on the screen, and returns true. It returns false when end has
// passed.
func (g *startupHandler) until(ctx context.Context, end time.Time) (ready bool, err error) {
	g.end = end
	for {
		if g.Snapshot.Exited {
			return false, ErrExited
		}
		g.now = g.Snapshot.Dialog(g.rules)
		wait := g.left()
		if g.now == nil {
			shown := g.prompt(g.Snapshot, g.rules)
			switch deaf := g.Snapshot.IsNotReadingKeys(g.rules); {
			case shown && !deaf:
				return true, nil
			case shown:
				wait = min(wait, steady)
			case g.pressed != "":
				wait = min(wait, goneAfter)
			}
		} else if g.mayAnswer() {
			wait = min(wait, g.rest())
		}
		if wait <= 0 {
			return false, ctx.Err()
		}
		changed, err := g.Next(ctx, wait)
		if err != nil {
			return false, err
		}
		if changed {
			continue
		}
		if err := g.pressKey(ctx); err != nil {
			return false, err
		}
	}
}

// left returns the time until the wait ends. While the screen is empty, it ends at g.blank. Once the program has drawn
// something, it ends after g.more at the earliest.
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

// mayAnswer reports whether the dialog on the screen may get a key.
func (g *startupHandler) mayAnswer() bool {
	if !g.rules.AnswerDialogs || g.now.Why != "" || g.keys >= maxKeys {
		return false
	}
	again := !g.final || g.now.rule.Again
	return g.now.state() != g.pressed || again && g.repeats < maxRepeats
}

// rest returns the time that the dialog must not change before its next key.
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

// pressKey presses the next key of the dialog, if it may. It is called when the screen has not changed for the time in rest.
func (g *startupHandler) pressKey(ctx context.Context) error {
	if g.now == nil {
		g.pressed, g.rule, g.repeats = "", "", 0
		_, err := g.refresh(ctx) // the input state may have changed without a new frame
		return err
	}
	if !g.mayAnswer() {
		return nil
	}
	state := g.now.state()
	if now, err := g.refresh(ctx); err != nil || now == nil || now.state() != state || !g.acceptsKeys() {
		return err
	}
	name, done, err := g.now.NextKey()
	if err != nil {
		g.now.Why = err.Error()
		return nil //nolint:nilerr // report contains the error as the reason
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
		g.answered++
		if next := time.Now().Add(g.more); next.After(g.end) {
			g.end = next
		}
	}
	return g.Key(ctx, name)
}

// refresh reads the current frame and returns its dialog, because some state changes without a new frame.
func (g *startupHandler) refresh(ctx context.Context) (*Dialog, error) {
	if err := g.Read(ctx); err != nil {
		return nil, err
	}
	return g.Snapshot.Dialog(g.rules), nil
}

// acceptsKeys reports whether a key would reach this dialog and nothing else. A repeated key requires that the program has
// read the last one at two checks.
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

// report returns the answered dialogs and the unanswered one on the screen.
func (g *startupHandler) report() Dialogs {
	d := Dialogs{Answered: g.answered}
	if g.now == nil {
		return d
	}
	d.Unanswered = g.now.unanswered()
	switch {
	case d.Unanswered.Why != "":
	case !g.rules.AnswerDialogs:
		d.Unanswered.Why = "gc is configured not to answer dialogs"
	case g.now.state() == g.pressed:
		d.Unanswered.Why = "gc pressed a key, but the dialog did not change"
	default:
		d.Unanswered.Why = "gc pressed no key, because the program did not read keys in time"
	}
	return d
}
