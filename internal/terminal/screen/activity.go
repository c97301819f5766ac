package screen

import (
	"fmt"
	"strings"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

const (
	// neighbourhood is the number of rows above the input box that belong to the live part of a screen. The rows above
	// them are conversation.
	neighbourhood = 8
	// frozen is the time without a change after which the evidence of a busy screen mentions it.
	frozen = 30 * time.Second
	// flowing is the age up to which output means that a program without an idle sign has not finished.
	flowing = 200 * time.Millisecond
)

// activity returns the agent's activity by its own report and its screen.
func (v Snapshot) activity(rules Rules) runtime.Evidence {
	if v.Exited {
		return evidenceFromScreen(runtime.ActivityUnknown, "the agent has exited")
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

// evidenceFromScreen returns evidence of the screen with the formatted detail.
func evidenceFromScreen(a runtime.Activity, format string, args ...any) runtime.Evidence {
	return runtime.Evidence{Source: runtime.SourceScreen, Activity: a, Detail: fmt.Sprintf(format, args...)}
}

// screen returns the evidence of the screen alone. A screen that does not match the rules is unknown, never idle.
func (v Snapshot) screen(rules Rules) runtime.Evidence {
	s := rules.Screen
	if d := v.Dialog(rules); d != nil {
		return v.waiting(d, rules)
	}
	c := v.InputBox(s.InputBox)
	if why := v.Busy(s, c); why != "" {
		e := evidenceFromScreen(runtime.ActivityBusy, "%s", why)
		e.Obstacle = v.obstacle(s, c, true)
		return e
	}
	if row, until, ok := v.limited(s); ok {
		e := evidenceFromScreen(runtime.ActivityLimited, "%s", row)
		e.Until = parseUntil(until, v.LastOutput)
		return e
	}
	if !v.inputLine(s) || s.InputBox.Frame == "" && !v.anyRow(s.Ready, 0) ||
		s.InputBox.Frame == agentcli.FrameLine && (!c.Found || c.Above) {
		if asks := v.LineQuestion(rules); asks != "" {
			return evidenceFromScreen(runtime.ActivityUnknown, "%s%s", SeemsToAsk, asks)
		}
		return evidenceFromScreen(runtime.ActivityUnknown, "no input box is on the screen")
	}
	if s.InputBox.PlainEdges && !c.plain {
		return evidenceFromScreen(runtime.ActivityUnknown, "the frame of the input box contains text")
	}
	e := v.rest(s, c)
	if e.Activity != runtime.ActivityUnknown {
		e.Obstacle = v.obstacle(s, c, false)
	}
	return e
}

// waiting returns the evidence for a dialog. A dialog about a limit is evidence of the limit.
func (v Snapshot) waiting(d *Dialog, rules Rules) runtime.Evidence {
	if d.Kind != agentcli.DialogLimit {
		e := evidenceFromScreen(runtime.ActivityWaiting, "a dialog is on the screen: %s", d.Kind)
		e.Kind = dialogKind(d.Kind)
		return e
	}
	e := evidenceFromScreen(runtime.ActivityLimited, "a dialog is on the screen: %s", d.Kind)
	for _, row := range v.rows {
		if until, ok := limitIn(strings.TrimSpace(row), rules.Screen); ok {
			e.Detail, e.Until = strings.TrimSpace(row), parseUntil(until, v.LastOutput)
		}
	}
	return e
}

// TitleUnknown reports whether the program has set a title that its profile does not know, although the profile has idle
// titles.
func (v Snapshot) TitleUnknown(s agentcli.Screen) bool {
	known := agentcli.MatchAny(s.TitleIdle, v.Title) || agentcli.MatchAny(s.TitleBusy, v.Title) || agentcli.MatchAny(s.TitleAttention, v.Title)
	return v.Title != "" && len(s.TitleIdle) > 0 && !known
}

// rest returns the evidence of a screen with an input box and no sign of a turn.
func (v Snapshot) rest(s agentcli.Screen, c InputBox) runtime.Evidence {
	var signs []string
	if len(s.TitleIdle) > 0 && v.Title != "" {
		if !agentcli.MatchAny(s.TitleIdle, v.Title) {
			return evidenceFromScreen(runtime.ActivityUnknown, "the title %q is not known", v.Title)
		}
		signs = append(signs, "idle title")
	}
	if len(s.Idle) > 0 {
		if !v.anyRow(s.Idle, v.liveTop(c)) {
			return evidenceFromScreen(runtime.ActivityUnknown, "the idle mark is missing")
		}
		signs = append(signs, "idle mark")
	}
	if s.InputBox.PlainEdges {
		signs = append(signs, "plain frame")
	}
	if len(signs) == 0 && len(s.TitleIdle) > 0 {
		return evidenceFromScreen(runtime.ActivityUnknown, "the program has set no title, so gc cannot know whether it is idle")
	}
	if len(signs) == 0 {
		return evidenceFromScreen(runtime.ActivityReady, "the input box is on the screen and nothing seems to run")
	}
	return evidenceFromScreen(runtime.ActivityIdle, "input box, %s", strings.Join(signs, ", "))
}

// Busy returns the sign of a turn on the screen; empty if there is none.
func (v Snapshot) Busy(s agentcli.Screen, c InputBox) string {
	switch {
	case agentcli.MatchAny(s.TitleBusy, v.Title):
		return fmt.Sprintf("busy title %q", v.Title)
	case v.anyRow(s.Busy, v.liveTop(c)):
		return "busy mark"
	}
	return ""
}

// liveTop returns the first row of the live part of the screen.
func (v Snapshot) liveTop(c InputBox) int {
	if c.Found {
		return c.top - neighbourhood
	}
	if y := v.lastRow(isText); y >= 0 {
		return y - 2*neighbourhood
	}
	return 0
}
