package runtime

import (
	"context"
	"errors"
	"time"
)

// Activity is what an agent is doing. A reader treats a word that it does not
// know as [ActivityUnknown].
type Activity string

// The activities.
const (
	ActivityUnknown    Activity = "unknown"    // send nothing, kill nothing
	ActivityReady      Activity = "ready"      // it takes input; no sign shows whether a turn is over
	ActivityBusy       Activity = "busy"       // a turn is in progress
	ActivityIdle       Activity = "idle"       // it takes input and says itself that no turn is in progress
	ActivityWaiting    Activity = "waiting"    // a person is asked something, see Evidence.Kind
	ActivityLimited    Activity = "limited"    // the model provider serves nothing for now, see Evidence.Until
	ActivityBackground Activity = "background" // its turn is over, work that it started goes on
)

// Source is where evidence of an activity comes from.
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
	SourceScreen     Source = "screen"      // rules about what is drawn
	SourceProcess    Source = "process"     // facts about processes
)

// The kinds of what is waited for.
const (
	WaitPermission = "permission"
	WaitQuestion   = "question"
	WaitMenu       = "menu"
	WaitLogin      = "login"
	WaitLimit      = "limit"
)

// Evidence is what one source says about an agent's activity. One with
// [ActivityUnknown] says why a source that was read says nothing that can be
// relied upon ("the idle mark is missing"): it is for explanations, and outweighs
// nothing.
type Evidence struct {
	Source   Source    `json:"source"`
	Activity Activity  `json:"activity"`
	Kind     string    `json:"kind,omitempty"`   // of waiting: one of the Wait kinds
	Until    time.Time `json:"until,omitzero"`   // of limited; zero if the end is not known
	Since    time.Time `json:"since,omitzero"`   // when the source began to say so; zero if unknown
	At       time.Time `json:"at"`               // when it was read
	Detail   string    `json:"detail,omitempty"` // the sign, for people: "busy mark", "status working"
	// Obstacle is what keeps the agent from making progress, if the source says so.
	Obstacle Obstacle `json:"obstacle,omitzero"`
}

// Reading is everything that a session's own channels say at one moment.
type Reading struct {
	// Instance is the token of the instance that was read: a capability, never
	// printed.
	Instance string `json:"-"`
	// Evidence has at most one entry for each source, in no particular order. A
	// source that says nothing has none.
	Evidence []Evidence `json:"evidence"`
	// Pending is what blocks the agent, nil if nothing is seen to. A source may say
	// waiting a moment before the question itself can be read: see Again. A limit
	// that offers no choice is evidence and nothing pending.
	Pending *PendingInteraction `json:"pending,omitempty"`
	// Again is when the reading is due to change although nothing is printed;
	// zero if only new output changes it. A caller that senses upon events looks
	// then, too. The last event of output comes after the last byte, at most 250
	// ms later.
	Again time.Time `json:"again,omitzero"`
	// LastInput is when a person last typed; zero if never or unknown.
	LastInput time.Time `json:"last_input,omitzero"`
	At        time.Time `json:"at"`
	// Ended is the word of the agent's own side that it has ended, nil if it has not
	// said so. It proves nothing of a process: that is up to [Observe].
	Ended *End `json:"ended,omitempty"`
	// Conversation is the model provider's own session that the agent says it is in, nil if
	// it has not said so.
	Conversation *Conversation `json:"conversation,omitempty"`
	// Progress is the newest sign that the agent makes progress in its turn.
	Progress Progress `json:"progress,omitzero"`
}

// Progress is what a session's channels know of an agent's progress in its turn. A turn can
// last long without any sign while a tool runs.
type Progress struct {
	// At is when the newest sign came, by the clock of its observer; zero if none is
	// known. A reader that has another clock only looks whether it changes.
	At time.Time `json:"at,omitzero"`
	// Sign names the newest sign, for people: "new text on the screen".
	Sign string `json:"sign,omitempty"`
	// Tool is the tool that runs now by the agent's own report; empty if none is known to.
	Tool string `json:"tool,omitempty"`
	// Screen says that what the agent prints was compared with what it has printed before:
	// output alone is then no sign of progress, since a spinner and a clock print too.
	Screen bool `json:"screen,omitempty"`
}

// Join returns what two channels of one session know together: the newest sign, and the tool
// that one of them reports.
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

// VariableConversation names, in the environment of an agent without a terminal that
// keeps conversations, the one that it is to go on with; VariableMode the mode to work in.
const (
	VariableConversation = "GC_ACP_SESSION"
	VariableMode         = "GC_ACP_MODE"
)

// Conversation is the model provider's own session, by which an agent can be resumed.
type Conversation struct {
	ID   string `json:"id"`
	Dir  string `json:"dir,omitempty"`  // the folder that it belongs to; empty: where the agent was started
	Mode string `json:"mode,omitempty"` // that the agent works in now; empty: not known
}

// End is how an agent has ended by its own side's word.
type End struct {
	Exit    *Exit     `json:"exit,omitempty"` // nil: it has not said how
	Crashed bool      `json:"crashed,omitempty"`
	Detail  string    `json:"detail,omitempty"` // why, for people
	At      time.Time `json:"at"`
}

// String returns the end in words.
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
	// Sense reads the session's channels now. It sends nothing, and takes a moment
	// longer while the screen is being painted. Nothing of a previous instance
	// counts, and nothing of a program that has left the foreground.
	// [ErrSessionNotFound] if the session is missing or its agent has exited.
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
