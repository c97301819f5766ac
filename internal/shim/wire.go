package shim

import (
	"errors"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
)

// The errors of clients.
var (
	// ErrNameInUse reports that a live session has the name.
	ErrNameInUse = statedir.ErrLocked
	// ErrNoShim reports that there is no live shim: the folder is missing or its lock is free.
	ErrNoShim = errors.New("no shim")
	// ErrDisconnected reports, together with ErrNoShim, that the shim exited during a request. The request may have been done
	// fully, partly, or not at all.
	ErrDisconnected = errors.New("the shim exited during the request")
	// ErrStale reports that the shim belongs to another instance.
	ErrStale = errors.New("stale instance")
	// ErrNoResponse reports that a shim runs and does not answer.
	ErrNoResponse = errors.New("its shim does not answer")
	// ErrExited reports that the agent has exited and accepts no input.
	ErrExited = errors.New("the agent has exited")
	// ErrOrphanProcesses reports that the shim of a previous instance was killed and processes of that instance still run.
	ErrOrphanProcesses = errors.New("processes of a previous instance still run")
)

// Default sizes.
const (
	DefaultCols       = 200
	DefaultRows       = 50
	DefaultScrollback = 10_000
	DefaultGrace      = 5 * time.Second
)

// Spec describes what a shim runs. It is sent over the shim's standard input and never written to disk, because it holds the
// environment.
type Spec struct {
	Name          string            `json:"name"`
	Instance      string            `json:"instance"` // the instance token
	Argv          []string          `json:"argv"`
	Dir           string            `json:"dir"`
	Env           []string          `json:"env"` // complete, "K=V"
	Terminal      bool              `json:"terminal"`
	Cols          int               `json:"cols,omitempty"`
	Rows          int               `json:"rows,omitempty"`
	Scrollback    int               `json:"scrollback,omitempty"`
	LogPath       string            `json:"log_path,omitempty"` // file for the raw output; empty: no file
	LogSize       int64             `json:"log_size,omitempty"` // bytes before rotation; one previous log is kept
	ProcessNames  []string          `json:"process_names,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`     // set by the driver; not secret
	WatchInterval time.Duration     `json:"mind_every,omitempty"` // time between two checks of the folder; zero is 2 min
}

// Hints are the parts of a [Record] that describe how to interpret the agent's processes and screen.
type Hints struct {
	ProcessNames []string          `json:"process_names,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
}

// Record is the content of session.json: what is needed to find, check and clean up an instance. It holds no secret.
type Record struct {
	Version      int               `json:"version"`
	Name         string            `json:"name"`
	Shim         proc.ID           `json:"shim"`
	Root         proc.ID           `json:"root"` // the first process of the agent
	Boot         string            `json:"boot"` // the host's boot id
	StartedAt    time.Time         `json:"started_at"`
	Terminal     bool              `json:"terminal"`
	WorkDir      string            `json:"work_dir"`
	ProcessNames []string          `json:"process_names,omitempty"`
	LogPath      string            `json:"log_path,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
}

// recordVersion is incremented when [Record] changes in a way that an older reader would misunderstand.
const recordVersion = 1

// Exit is the exit status of the agent's process.
type Exit struct {
	Code   int       `json:"code"` // -1 if the process was killed by a signal
	Signal string    `json:"signal,omitempty"`
	At     time.Time `json:"at"`
}

// ExitRecord is the content of last.json: the exit and the last output of an agent.
type ExitRecord struct {
	Exit         Exit      `json:"exit"`
	Title        string    `json:"title,omitempty"`
	Text         string    `json:"text"` // scrollback and screen, or captured output
	LastActivity time.Time `json:"last_activity,omitzero"`
}

// State is the current state of a session, as its shim reports it.
type State struct {
	Record
	Agent      proc.ID   `json:"agent"` // the agent's process
	Exit       *Exit     `json:"exit,omitempty"`
	LastOutput time.Time `json:"last_output,omitzero"`
	LastHuman  time.Time `json:"last_human,omitzero"`
	Attached   int       `json:"attached"`
	Title      string    `json:"title,omitempty"`
	Signs      vt.Signs  `json:"signs,omitzero"`
	Answered   uint64    `json:"answered,omitzero"` // number of questions that were answered through gc
	Last       []string  `json:"last,omitempty"`    // names of the last answered questions, the newest last
	Cols       int       `json:"cols"`
	Rows       int       `json:"rows"`
	Delivers   bool      `json:"delivers,omitzero"` // whether [Client.Deliver] can be used; a shim of an earlier release cannot
}

// Frame is the terminal at one moment. Redraw, written to a new terminal model of the same size, reproduces the screen with
// styles and modes.
type Frame struct {
	Seq        uint64            `json:"seq"`
	Cols       int               `json:"cols"`
	Rows       int               `json:"rows"`
	Redraw     []byte            `json:"redraw,omitempty"`
	Lines      []string          `json:"lines,omitempty"` // the last lines of output if there is no terminal; Redraw is empty then
	Title      string            `json:"title,omitempty"`
	Signs      vt.Signs          `json:"signs,omitzero"`
	Line       screen.LineMode   `json:"line"`
	Input      screen.InputState `json:"input,omitzero"`  // unknown if the shim does not report it
	Cooked     bool              `json:"cooked,omitzero"` // see inject.LineState.Lines
	Silent     bool              `json:"silent,omitzero"` // see inject.LineState
	LastOutput time.Time         `json:"last_output,omitzero"`
	LastHuman  time.Time         `json:"last_human,omitzero"`
	Attached   int               `json:"attached"`
	Exited     bool              `json:"exited"`
}

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of events of a shim. The first on every stream is EventState.
const (
	EventState    EventKind = "state"  // the current state; earlier events may have been lost
	EventExited   EventKind = "exited" // the agent has exited
	EventOutput   EventKind = "output" // at most four a second
	EventAttached EventKind = "attached"
	EventTitle    EventKind = "title"
	EventStatus   EventKind = "status" // one of [vt.Signs] has changed; Text is the program's status
	// EventAgentEnded reports that the process that [Client.SetAgent] named has exited. The process that was started, such as a
	// shell around it, may still run.
	EventAgentEnded EventKind = "agent_ended"
)

// Event is one message of the event stream.
type Event struct {
	Kind     EventKind `json:"kind"`
	Time     time.Time `json:"time"`
	Exit     *Exit     `json:"exit,omitempty"`
	Attached int       `json:"attached,omitempty"`
	Text     string    `json:"text,omitempty"`
}

// Successor is the instance that replaces the previous instance in the same session. The zero value means that the instance
// stays the same.
type Successor struct {
	Instance string   // token of the new instance; if empty, all other fields are ignored
	Env      []string // environment of the new instance, "K=V"; the token is added

	// As in [Spec].
	ProcessNames []string
	Labels       map[string]string
}

type (
	stopRequest     struct{ Grace time.Duration }
	relaunchRequest struct {
		Argv  []string
		Grace time.Duration
		Successor
	}
	textResult    struct{ Text string }
	resizeRequest struct{ Cols, Rows int }
	metaValue     struct {
		Value string
		Set   bool
	}
	problem struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
)

// The codes of problems on the wire.
const (
	codeStale       = "stale_instance"
	codeExited      = "agent_exited"
	codeInvalid     = "invalid"
	codeFailed      = "failed"
	codeTouched     = "touched"
	codeChanged     = "changed"
	codeUnsupported = "unsupported"
)
