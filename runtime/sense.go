package runtime

import (
	"context"
	"errors"
	"time"
)

// Activity is what an agent is doing. A reader treats an unknown value as [ActivityUnknown].
type Activity string

// The activities.
const (
	ActivityUnknown    Activity = "unknown"    // send nothing, kill nothing
	ActivityReady      Activity = "ready"      // it accepts input; no signal shows whether a turn has ended
	ActivityBusy       Activity = "busy"       // a turn is in progress
	ActivityIdle       Activity = "idle"       // it accepts input and reports that no turn is in progress
	ActivityWaiting    Activity = "waiting"    // it waits for a person, see Evidence.Kind
	ActivityLimited    Activity = "limited"    // the model provider refuses requests for now, see Evidence.Until
	ActivityBackground Activity = "background" // its turn has ended, work that it started continues
)

// Source is the origin of a signal.
type Source string

// The sources, the most trusted first.
const (
	SourceWorker     Source = "worker"      // the worker API
	SourceACP        Source = "acp"         // the Agent Client Protocol
	SourceStatus     Source = "osc7501"     // the program's own status
	SourceHook       Source = "hook"        // a hook of the agent CLI
	SourceStatusFile Source = "status_file" // the model provider's status file
	SourceTranscript Source = "transcript"  // the model provider's transcript
	SourceProgress   Source = "osc9.4"      // progress in the terminal
	SourceMark       Source = "osc133"      // shell integration marks
	SourceScreen     Source = "screen"      // rules for the content of the screen
	SourceProcess    Source = "process"     // facts about processes
)

// The kinds of [ActivityWaiting].
const (
	WaitPermission = "permission"
	WaitQuestion   = "question"
	WaitMenu       = "menu"
	WaitLogin      = "login"
	WaitLimit      = "limit"
)

// Evidence is one signal: what one source reports about an agent's activity. With
// [ActivityUnknown], Detail explains why the source cannot be used ("the idle mark is missing").
// Such a signal is only an explanation and overrides no other signal.
type Evidence struct {
	Source   Source    `json:"source"`
	Activity Activity  `json:"activity"`
	Kind     string    `json:"kind,omitempty"`   // for waiting: one of the Wait kinds
	Until    time.Time `json:"until,omitzero"`   // for limited: the end; zero if unknown
	Since    time.Time `json:"since,omitzero"`   // when the source first reported it; zero if unknown
	At       time.Time `json:"at"`               // when it was read
	Detail   string    `json:"detail,omitempty"` // the signal as text for people: "busy mark", "status working"
	// Obstacle is what keeps the agent from making progress, if the source reports it.
	Obstacle Obstacle `json:"obstacle,omitzero"`
}

// Reading is everything that a session's channels report at one moment.
type Reading struct {
	// Instance is the token of the instance that was read. It is a secret: never print it.
	Instance string `json:"-"`
	// Evidence has at most one signal for each source, in no particular order. A source without a
	// report has none.
	Evidence []Evidence `json:"evidence"`
	// Pending is the question that blocks the agent, or nil if none is visible. A source may report
	// waiting a moment before the question itself can be read; see Again. A limit without a choice
	// is a signal and not a question.
	Pending *PendingInteraction `json:"pending,omitempty"`
	// Again is when the reading can change although the agent prints nothing. It is zero if only
	// new output can change it. A caller that reads upon events must also read at this time. The
	// last output event comes at most 250 ms after the last byte.
	Again time.Time `json:"again,omitzero"`
	// LastInput is when a person last typed; zero if never or unknown.
	LastInput time.Time `json:"last_input,omitzero"`
	At        time.Time `json:"at"`
	// Ended is set if the agent has reported that it ended. It does not prove that the process has
	// exited: use [Observe].
	Ended *End `json:"ended,omitempty"`
	// Conversation is the model provider's session that the agent reports, or nil if it has
	// reported none.
	Conversation *Conversation `json:"conversation,omitempty"`
	// Progress is the newest signal that the agent makes progress in its turn.
	Progress Progress `json:"progress,omitzero"`
}

// Progress is what a session's channels report about an agent's progress in its turn. While a tool
// runs, a turn can be without any signal for a long time.
type Progress struct {
	// At is the time of the newest signal, by the clock of its observer; zero if unknown. A reader
	// with another clock may only check whether it changes.
	At time.Time `json:"at,omitzero"`
	// Sign describes the newest signal, for people: "new text on the screen".
	Sign string `json:"sign,omitempty"`
	// Tool is the tool that runs now, as the agent reports; empty if none is known.
	Tool string `json:"tool,omitempty"`
	// Screen reports that output was compared with earlier output. Then output alone is not a
	// signal of progress, because a spinner or a clock also prints.
	Screen bool `json:"screen,omitempty"`
}

// Join combines two reports about one session, for example from its terminal and from its worker.
// The newer signal wins. The tool is that of p, or of other if p has none. Screen is true if it is
// true in one of them.
func (p Progress) Join(other Progress) Progress {
	out := p
	if other.At.After(p.At) {
		out.At, out.Sign = other.At, other.Sign
	}
	if out.Tool == "" {
		out.Tool = other.Tool
	}
	out.Screen = p.Screen || other.Screen
	return out
}

// VariableConversation is the environment variable with the conversation that an agent without a
// terminal resumes. VariableMode is the variable with its mode.
const (
	VariableConversation = "GC_ACP_SESSION"
	VariableMode         = "GC_ACP_MODE"
)

// Conversation is the model provider's session, with which an agent can be resumed.
type Conversation struct {
	ID   string `json:"id"`
	Dir  string `json:"dir,omitempty"`  // its directory; empty means the directory where the agent was started
	Mode string `json:"mode,omitempty"` // current mode of the agent; empty if unknown
}

// End is how an agent has ended, as the agent itself reports.
type End struct {
	Exit    *Exit     `json:"exit,omitempty"` // nil if not reported
	Crashed bool      `json:"crashed,omitempty"`
	Detail  string    `json:"detail,omitempty"` // reason, for people
	At      time.Time `json:"at"`
}

// String returns the end as text.
func (e *End) String() string {
	words := "it ended"
	if e.Crashed {
		words = "it crashed"
	}
	if e.Exit != nil {
		words = e.Exit.String()
	}
	if e.Detail != "" {
		words += " (" + e.Detail + ")"
	}
	return words
}

// Sensor is the extension of drivers that report what an agent is doing.
type Sensor interface {
	// Sense reads the session's channels now. It sends nothing, and takes longer while the agent
	// draws the screen. It ignores signals of a previous instance and of a program that has left
	// the foreground. It returns [ErrSessionNotFound] if the session is missing or its agent has
	// exited.
	Sense(ctx context.Context, name string) (Reading, error)
}

// Sense reads what an agent is doing. Without the extension the error matches
// [errors.ErrUnsupported].
func Sense(ctx context.Context, p Provider, name string) (Reading, error) {
	if s, ok := As[Sensor](p, name); ok {
		return s.Sense(ctx, name)
	}
	return Reading{}, &Error{Op: "sense", Session: name, Err: errors.ErrUnsupported}
}
