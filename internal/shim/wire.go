package shim

import (
	"errors"
	"time"

	"gascity/internal/fsutil/rawlog"
	"gascity/internal/proc"
	"gascity/internal/shim/process"
	"gascity/internal/statedir"
	"gascity/internal/terminal/tty"
)

// The errors of the client side.
var (
	// ErrNameInUse reports that a live session holds the name.
	ErrNameInUse = statedir.ErrLocked
	// ErrNoShim reports that there is no live shim: no folder, or its lock is
	// free.
	ErrNoShim = errors.New("no shim")
	// ErrDisconnected reports, beside ErrNoShim, that the shim went away while it was asked: what it
	// was asked may have been done, in part or as a whole.
	ErrDisconnected = errors.New("cut off in the middle")
	// ErrStale reports that the shim belongs to another instance.
	ErrStale = errors.New("stale instance")
	// ErrNoResponse reports that a shim is there and does not answer.
	ErrNoResponse = errors.New("its shim does not answer")
	// ErrExited reports that the agent has ended and takes no input.
	ErrExited = errors.New("the agent has exited")
	// ErrOrphanProcesses reports that processes of a previous instance, whose shim was
	// killed, still run.
	ErrOrphanProcesses = errors.New("processes of a previous instance still run")
)

// Default sizes.
const (
	DefaultCols       = 200
	DefaultRows       = 50
	DefaultScrollback = 10_000
	DefaultLogSize    = rawlog.DefaultSize
	DefaultGrace      = 5 * time.Second
)

// Spec is what a shim is to run. It travels over the shim's standard input and
// is never written anywhere: it holds the environment.
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
	LogPath       string            `json:"log_path,omitempty"` // raw output; empty keeps none
	LogSize       int64             `json:"log_size,omitempty"` // bytes before rotation; one previous log is kept
	ProcessNames  []string          `json:"process_names,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`     // the driver's own notes, public
	WatchInterval time.Duration     `json:"mind_every,omitempty"` // between two looks after the folder; zero is 2 min
}

// Hints are the parts of a [Record] that say how to read the agent.
type Hints struct {
	ProcessNames []string          `json:"process_names,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
}

// Record is what stands in session.json: enough to find, check and clean up an
// instance. It holds no secret.
type Record struct {
	Version      int               `json:"version"`
	Name         string            `json:"name"`
	Shim         proc.ID           `json:"shim"`
	Root         proc.ID           `json:"root"` // the process that was started
	Boot         string            `json:"boot"` // the host's boot id
	StartedAt    time.Time         `json:"started_at"`
	Terminal     bool              `json:"terminal"`
	WorkDir      string            `json:"work_dir"`
	ProcessNames []string          `json:"process_names,omitempty"`
	LogPath      string            `json:"log_path,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
}

// recordVersion is raised when [Record] changes so that an older reader would be
// wrong.
const recordVersion = 1

// Exit is how the agent's process ended.
type Exit struct {
	Code   int       `json:"code"` // -1 if a signal ended it
	Signal string    `json:"signal,omitempty"`
	At     time.Time `json:"at"`
}

// ExitRecord is what is left of an instance whose agent has ended.
type ExitRecord struct {
	Exit         Exit      `json:"exit"`
	Title        string    `json:"title,omitempty"`
	Text         string    `json:"text"` // scrollback and screen, or captured output
	LastActivity time.Time `json:"last_activity,omitzero"`
}

// State is a shim's answer to how things stand.
type State struct {
	Record
	Agent      proc.ID   `json:"agent"` // the process that is the agent, by owned identity
	Exit       *Exit     `json:"exit,omitempty"`
	LastOutput time.Time `json:"last_output,omitzero"`
	LastHuman  time.Time `json:"last_human,omitzero"`
	Attached   int       `json:"attached"`
	Title      string    `json:"title,omitempty"`
	Signs      Signs     `json:"signs,omitzero"`
	Answered   uint64    `json:"answered,omitzero"` // questions that were answered through us
	Last       []string  `json:"last,omitempty"`    // names of the last of them, the newest last; empty to a shim that does not count them by name
	Cols       int       `json:"cols"`
	Rows       int       `json:"rows"`
}

// Frame is the terminal at one moment. Redraw, written to a fresh terminal model
// of the same size, reproduces it with styles and modes.
type Frame struct {
	Seq        uint64    `json:"seq"`
	Cols       int       `json:"cols"`
	Rows       int       `json:"rows"`
	Redraw     []byte    `json:"redraw,omitempty"`
	Lines      []string  `json:"lines,omitempty"` // the last lines of output, instead of Redraw, without a terminal
	Title      string    `json:"title,omitempty"`
	Signs      Signs     `json:"signs,omitzero"`
	Line       LineMode  `json:"line"`
	Input      tty.Input `json:"input,omitzero"`  // unknown to a shim that does not report it
	Cooked     bool      `json:"cooked,omitzero"` // see tty.State.Lines
	Silent     bool      `json:"silent,omitzero"` // see tty.State
	LastOutput time.Time `json:"last_output,omitzero"`
	LastHuman  time.Time `json:"last_human,omitzero"`
	Attached   int       `json:"attached"`
	Exited     bool      `json:"exited"`
}

// LineMode is who edits the terminal's input box.
type LineMode = process.LineMode

// The line modes.
const (
	LineUnknown = process.LineUnknown
	LineRaw     = process.LineRaw
	LineCooked  = process.LineCooked
)

// EventKind says what a shim saw.
type EventKind string

// The kinds of events of a shim. The first on every stream is EventState.
const (
	EventState    EventKind = "state"  // the present state; everything before it may have been lost
	EventExited   EventKind = "exited" // the agent has ended
	EventOutput   EventKind = "output" // at most four a second
	EventAttached EventKind = "attached"
	EventTitle    EventKind = "title"
	EventStatus   EventKind = "status" // one of [Signs] says something else; Text is the program's status
	// EventAgentEnded says that the process has ended that was named as the agent;
	// what was started, such as a shell around it, may live on.
	EventAgentEnded EventKind = "agent_ended"
)

// Event is one message of the stream.
type Event struct {
	Kind     EventKind `json:"kind"`
	Time     time.Time `json:"time"`
	Exit     *Exit     `json:"exit,omitempty"`
	Attached int       `json:"attached,omitempty"`
	Text     string    `json:"text,omitempty"`
}

// StopReport is what a stop found and did.
type StopReport = process.StopReport

// Successor is the instance that takes the place of another one in its box. The
// zero value is the same one again.
type Successor struct {
	Instance string   // its token; empty: that of the previous one, and all else is its too
	Env      []string // its environment, "K=V"; the token is added

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
	codeStale   = "stale_instance"
	codeExited  = "agent_exited"
	codeInvalid = "invalid"
	codeFailed  = "failed"
	codeTouched = "touched"
	codeChanged = "changed"
)
