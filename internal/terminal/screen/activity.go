package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

const (
	// neighbourhood is how many rows above the input box belong to the live
	// part of a screen; what is further up is conversation.
	neighbourhood = 8
	// frozen is how long a busy screen may stand still before that is reported.
	frozen = 30 * time.Second
	// flowing is how fresh output must be for a program without a sign of
	// idleness to count as not yet done.
	flowing = 200 * time.Millisecond
)

// activity returns what the agent seems to be doing, by its own report and its screen.
func (v Snapshot) activity(rules Rules) runtime.Evidence {
	if v.Exited {
		return drawn(runtime.ActivityUnknown, "the agent has exited")
	}
	e := v.screen(rules)
	if e.Activity == runtime.ActivityWaiting || e.Activity == runtime.ActivityLimited {
		return e
	}
	report, ok := v.report(rules)
	if ok && (report.Activity != runtime.ActivityIdle || e.Activity == runtime.ActivityReady) {
		return report
	}
	return e
}

// drawn is evidence of the screen.
func drawn(a runtime.Activity, format string, args ...any) runtime.Evidence {
	return runtime.Evidence{Source: runtime.SourceScreen, Activity: a, Detail: fmt.Sprintf(format, args...)}
}

// screen returns what the screen alone shows by the rules. One that is not as they say is
// unknown, never idle.
func (v Snapshot) screen(rules Rules) runtime.Evidence {
	s := rules.Screen
	if d := v.Dialog(rules); d != nil {
		return v.waiting(d, rules)
	}
	c := v.InputBox(s.InputBox)
	if why := v.Busy(s, c); why != "" {
		e := drawn(runtime.ActivityBusy, "%s", why)
		e.Obstacle = v.obstacle(s, c, true)
		return e
	}
	if row, until, ok := v.limited(s); ok {
		e := drawn(runtime.ActivityLimited, "%s", row)
		e.Until = parseUntil(until, v.LastOutput)
		return e
	}
	if !v.inputLine(s) || s.InputBox.Frame == "" && !v.anyRow(s.Ready, 0, len(v.rows)) ||
		s.InputBox.Frame == agentcli.FrameLine && (!c.Found || c.Above) {
		return drawn(runtime.ActivityUnknown, "no input box is in sight")
	}
	if s.InputBox.PlainEdges && !c.plain {
		return drawn(runtime.ActivityUnknown, "the frame of the input box holds a text")
	}
	e := v.rest(s, c)
	if e.Activity != runtime.ActivityUnknown {
		e.Obstacle = v.obstacle(s, c, false)
	}
	return e
}

// waiting returns a dialog as evidence. One about a limit says that there is one.
func (v Snapshot) waiting(d *Dialog, rules Rules) runtime.Evidence {
	if d.Kind != agentcli.DialogLimit {
		e := drawn(runtime.ActivityWaiting, "a dialog is up: %s", d.Kind)
		e.Kind = dialogKind(d.Kind)
		return e
	}
	e := drawn(runtime.ActivityLimited, "a dialog is up: %s", d.Kind)
	for _, row := range v.rows {
		if until, ok := limitIn(strings.TrimSpace(row), rules.Screen); ok {
			e.Detail, e.Until = strings.TrimSpace(row), parseUntil(until, v.LastOutput)
		}
	}
	return e
}

// TitleUnknown reports whether the program has set a title, and its profile knows titles and not
// this one.
func (v Snapshot) TitleUnknown(s agentcli.Screen) bool {
	known := agentcli.MatchAny(s.TitleIdle, v.Title) || agentcli.MatchAny(s.TitleBusy, v.Title) || agentcli.MatchAny(s.TitleAttention, v.Title)
	return v.Title != "" && len(s.TitleIdle) > 0 && !known
}

// rest judges a screen with an input box and no sign of a turn.
func (v Snapshot) rest(s agentcli.Screen, c InputBox) runtime.Evidence {
	var signs []string
	if len(s.TitleIdle) > 0 && v.Title != "" {
		if !agentcli.MatchAny(s.TitleIdle, v.Title) {
			return drawn(runtime.ActivityUnknown, "the title %q says nothing", v.Title)
		}
		signs = append(signs, "idle title")
	}
	if len(s.Idle) > 0 {
		if !v.anyRow(s.Idle, v.liveTop(c), len(v.rows)) {
			return drawn(runtime.ActivityUnknown, "the idle mark is missing")
		}
		signs = append(signs, "idle mark")
	}
	if s.InputBox.PlainEdges {
		signs = append(signs, "plain frame")
	}
	if len(signs) == 0 && len(s.TitleIdle) > 0 {
		return drawn(runtime.ActivityUnknown, "the title that would show it is missing")
	}
	if len(signs) == 0 {
		return drawn(runtime.ActivityReady, "the input box is there and nothing seems to run")
	}
	return drawn(runtime.ActivityIdle, "input box, %s", strings.Join(signs, ", "))
}

// Busy returns the sign of a turn that is on the screen, empty if none is.
func (v Snapshot) Busy(s agentcli.Screen, c InputBox) string {
	switch {
	case agentcli.MatchAny(s.TitleBusy, v.Title):
		return fmt.Sprintf("busy title %q", v.Title)
	case v.anyRow(s.Busy, v.liveTop(c), len(v.rows)):
		return "busy mark"
	}
	return ""
}

// liveTop returns the first row of the live part of the screen.
func (v Snapshot) liveTop(c InputBox) int {
	if c.Found {
		return c.top - neighbourhood
	}
	for y, v0 := range slices.Backward(v.rows) {
		if v0 != "" {
			return y - 2*neighbourhood
		}
	}
	return 0
}
