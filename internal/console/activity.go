package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/internal/agentcli"
)

// State is what an agent is doing, as far as its screen tells.
type State string

// The states.
const (
	StateUnknown State = "unknown" // send nothing, kill nothing
	StateBusy    State = "busy"    // a turn is in progress
	StateWaiting State = "waiting" // a person is asked something, see Activity.Kind
	// StateIdle: the input line is there, and the agent CLI's own sign that no
	// turn is in progress.
	StateIdle State = "idle"
	// StateReady: the input line is there and no sign of a turn, but for this
	// program no sign of idleness is known. A guess.
	StateReady State = "ready"
)

// Activity is a reading of one frame.
type Activity struct {
	State  State
	Kind   agentcli.DialogKind // what is waited for
	Reason string              // the evidence, for people
}

const (
	// neighbourhood is how many rows above the input line belong to the live
	// part of a screen; what is further up is conversation.
	neighbourhood = 8
	// frozen is how long a busy screen may stand still before that is told.
	frozen = 30 * time.Second
	// flowing is how fresh output must be for a program without a sign of
	// idleness to count as not yet done.
	flowing = 200 * time.Millisecond
)

// Read tells what the agent is doing. It is pure: now is the time to which the
// frame's age is measured. A screen that is not as the rules say is unknown,
// never idle.
func Read(f Frame, rules Rules, now time.Time) Activity {
	a := look(f).activity(rules)
	age := now.Sub(f.LastOutput)
	switch {
	case f.LastOutput.IsZero():
	case a.State == StateReady && age < flowing:
		return Activity{State: StateUnknown, Reason: "output is still coming"}
	case a.State == StateBusy && age > frozen:
		a.Reason += fmt.Sprintf(", but the screen has not changed for %s", age.Round(time.Second))
	}
	return a
}

func (v view) activity(rules Rules) Activity {
	s := rules.Screen
	if v.Exited {
		return Activity{State: StateUnknown, Reason: "the agent has exited"}
	}
	if d := v.dialog(rules); d != nil {
		return Activity{State: StateWaiting, Kind: d.Kind, Reason: "a dialog is up: " + string(d.Kind)}
	}
	status := parseStatus(v.Status)
	switch status.state {
	case "working":
		return Activity{State: StateBusy, Reason: "program status: working"}
	case "blocked":
		return Activity{State: StateWaiting, Kind: status.dialog(), Reason: "program status: blocked"}
	}
	c := v.readComposer(s.Composer)
	if why := v.busy(s, c); why != "" {
		return Activity{State: StateBusy, Reason: why}
	}
	if !v.inputLine(s) || s.Composer.Frame == "" && !v.anyRow(s.Ready, 0, len(v.rows)) ||
		s.Composer.Frame == agentcli.FrameLine && (!c.found || c.above) {
		return Activity{State: StateUnknown, Reason: "no input line is in sight"}
	}
	if s.Composer.PlainEdges && !c.plain {
		return Activity{State: StateUnknown, Reason: "the frame of the input line holds a text"}
	}
	return v.rest(s, c, status)
}

// rest judges a screen with an input line and no sign of a turn.
func (v view) rest(s agentcli.Screen, c composer, status programStatus) Activity {
	var signs []string
	if len(s.TitleIdle) > 0 && v.Title != "" {
		if !agentcli.MatchAny(s.TitleIdle, v.Title) {
			return Activity{State: StateUnknown, Reason: fmt.Sprintf("the title %q says nothing", v.Title)}
		}
		signs = append(signs, "idle title")
	}
	if len(s.Idle) > 0 {
		if !v.anyRow(s.Idle, v.liveTop(c), len(v.rows)) {
			return Activity{State: StateUnknown, Reason: "the idle mark is missing"}
		}
		signs = append(signs, "idle mark")
	}
	if s.Composer.PlainEdges {
		signs = append(signs, "plain frame")
	}
	if status.state != "" {
		signs = append(signs, "program status: "+status.state)
	}
	if len(signs) == 0 {
		return Activity{State: StateReady, Reason: "the input line is there and nothing seems to run"}
	}
	return Activity{State: StateIdle, Reason: "input line, " + strings.Join(signs, ", ")}
}

// busy returns the sign of a turn that is on the screen, empty if none is.
func (v view) busy(s agentcli.Screen, c composer) string {
	switch {
	case agentcli.MatchAny(s.TitleBusy, v.Title):
		return fmt.Sprintf("busy title %q", v.Title)
	case v.anyRow(s.Busy, v.liveTop(c), len(v.rows)):
		return "busy mark"
	}
	return ""
}

// liveTop returns the first row of the live part of the screen.
func (v view) liveTop(c composer) int {
	if c.found {
		return c.top - neighbourhood
	}
	for y, v0 := range slices.Backward(v.rows) {
		if v0 != "" {
			return y - 2*neighbourhood
		}
	}
	return 0
}
