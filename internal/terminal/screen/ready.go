package screen

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/agentcli"
)

// ReadyState is the result of a wait for readiness.
type ReadyState string

// The results.
const (
	ReadyPrompt  ReadyState = "prompt"  // the prompt is on the screen, and no dialog
	ReadyDelay   ReadyState = "delay"   // no prompt is known; the delay has passed
	ReadyTimeout ReadyState = "timeout" // the limit has passed without the prompt; the agent runs
	ReadyBlocked ReadyState = "blocked" // the limit has passed with an unanswered dialog on the screen
)

// Readiness describes the result of a wait for readiness.
type Readiness struct {
	State ReadyState
	After time.Duration // the duration of the wait
	Dialogs
}

// Ready waits until the agent's prompt is on the screen and no dialog is. Without a ReadyPrefix it waits for the profile's
// input box, at most for ReadyDelay. With AnswerDialogs it answers known dialogs. The wait ends after limit, counted from
// its beginning or from the last answer; zero means rules.ReadyLimit(). A timeout is no error, see [Readiness.State]. The
// error matches [ErrExited] if the agent has exited, and ctx's error if ctx has ended.
func Ready(ctx context.Context, t Terminal, rules Rules, limit time.Duration) (Readiness, error) {
	began := time.Now()
	var blank time.Time
	if limit == 0 {
		limit = rules.ReadyLimit()
		if limit > 0 && rules.AnswerDialogs && len(rules.Dialogs) > 0 {
			blank = began.Add(maxReady)
		}
	}
	g, err := newStartupHandler(ctx, t, rules, Snapshot.ready)
	if err != nil {
		return Readiness{}, err
	}
	g.more, g.blank = limit, blank
	ready, err := g.until(ctx, began.Add(limit))
	r := Readiness{State: ReadyPrompt, After: time.Since(began), Dialogs: g.report()}
	switch {
	case err != nil || ready:
	case r.Unanswered != nil:
		r.State = ReadyBlocked
	case rules.ReadyPrefix == "":
		r.State = ReadyDelay
	default:
		r.State = ReadyTimeout
	}
	return r, err
}

// Dismiss answers known dialogs until the prompt is on the screen or budget has passed. It reports an unknown dialog and
// presses no key in it. Errors are those of [Ready].
func Dismiss(ctx context.Context, t Terminal, rules Rules, budget time.Duration) (Dialogs, error) {
	rules.AnswerDialogs = true
	end := time.Now().Add(budget)
	g, err := newStartupHandler(ctx, t, rules, Snapshot.prompting)
	if err != nil {
		return Dialogs{}, err
	}
	_, err = g.until(ctx, end)
	return g.report(), err
}

// ready reports whether the screen shows that the agent is ready.
func (v Snapshot) ready(rules Rules) bool {
	s := rules.Screen
	switch {
	case rules.ReadyPrefix != "":
		return v.promptShown(rules) && v.inputLine(s) && (len(s.Ready) == 0 || v.Shows(s.Ready))
	case len(s.Ready) > 0:
		return v.Shows(s.Ready)
	case s.InputBox.Frame == agentcli.FrameLine:
		return false // a plain program without a known prompt
	}
	return v.InputBox(s.InputBox).Found
}

// promptShown reports whether a row begins with ReadyPrefix. If ReadyPrefix is a mark of the input box, any other mark of the box
// counts too, because a program shows another mark in another mode.
func (v Snapshot) promptShown(rules Rules) bool {
	if slices.ContainsFunc(v.rows, func(row string) bool { return hasMark(row, []string{rules.ReadyPrefix}) }) {
		return true
	}
	box := rules.Screen.InputBox
	return v.InputBox(box).Found && slices.Contains(box.Marks, strings.TrimSpace(rules.ReadyPrefix))
}

// inputLine reports whether the program's input box is on the screen. It also returns true if the box cannot be recognized.
func (v Snapshot) inputLine(s agentcli.Screen) bool {
	return s.InputBox.Frame == "" || s.InputBox.Frame == agentcli.FrameLine || v.InputBox(s.InputBox).Found
}

// IsNotReadingKeys reports whether the kernel edits lines for a program that normally reads keys. Input is then echoed into
// its screen and may be dropped.
func (v Snapshot) IsNotReadingKeys(rules Rules) bool {
	frame := rules.Screen.InputBox.Frame
	return v.Line == LineCooked && frame != "" && frame != agentcli.FrameLine
}

// Unready reports whether the program certainly does not accept prompts now: by the rules, its input box or ready sign is
// missing, or it is loading.
func (v Snapshot) Unready(rules Rules) bool {
	s := rules.Screen
	return v.IsNotReadingKeys(rules) || v.Shows(s.Loading) || !v.inputLine(s) || s.InputBox.Frame == "" && len(s.Ready) > 0 && !v.anyRow(s.Ready, 0) ||
		rules.ReadyPrefix != "" && v.blank()
}

// promptEnds are the usual last characters of a prompt.
const promptEnds = ">$%#❯›"

// prompting reports whether the screen shows that the program waits for input: that the agent is ready, or that the cursor's row
// ends like a usual prompt.
func (v Snapshot) prompting(rules Rules) bool {
	if v.ready(rules) {
		return true
	}
	if v.Cursor.Y >= len(v.rows) {
		return false
	}
	last, n := utf8.DecodeLastRuneInString(strings.TrimSpace(v.rows[v.Cursor.Y]))
	return n > 0 && strings.ContainsRune(promptEnds, last)
}
