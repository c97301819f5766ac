// Package screen interprets the screen of an interactive terminal: whether an agent is ready, its activity, its
// questions and the end of a turn. It also answers dialogs. All drivers with a terminal use it. Package inject types
// prompts.
//
// There are no fixed sleeps. Every wait is for the next frame, with a deadline.
package screen

import (
	"context"
	"errors"
	"time"

	"gascity/internal/terminal/vt"
)

// ErrExited reports that the agent has exited during an operation.
var ErrExited = errors.New("agent has exited")

// Terminal is the terminal of a session. All methods are safe for concurrent use. Only one function of this package or of
// package inject at a time may send to a terminal: the driver holds its input lock around the call.
type Terminal interface {
	// Frame returns the newest state of the terminal. It waits until the sequence number is greater than after, the agent
	// has exited or ctx ends; if after is zero, it returns at once. Intermediate states are skipped. If ctx ends, Frame
	// must return at once with an error that matches ctx.Err(): callers detect in this way that nothing has changed.
	Frame(ctx context.Context, after uint64) (Frame, error)
	// Send writes input bytes in one piece: no bytes of other senders come in between. It returns when the terminal has
	// accepted all bytes, and blocks while the program does not read.
	Send(ctx context.Context, p []byte) error
}

// Frame is the state of a terminal at one moment.
type Frame struct {
	Seq    uint64   // above 0; increases with every change of output, title, status or human input
	Rows   []string // the visible rows, right trimmed
	Cursor vt.Cursor
	Modes  vt.Modes
	Title  string

	vt.Signs // the reports of the program about itself

	// Cells returns visible row y with styles, for decisions that depend on a style; nil if the driver has no styles. It
	// always reads this frame, also after later output.
	Cells func(y int) []vt.Cell

	Line       LineMode
	Input      InputState
	Lines      bool      // the kernel edits the line and Enter finishes it; Input is InputWaiting until finished lines are read
	Silent     bool      // Lines is true and the kernel does not echo
	LastOutput time.Time // the time of the last output byte
	LastHuman  time.Time // the time of a person's last input through an attached terminal; zero if never
	Attached   int       // the number of attached terminals with input
	Exited     bool      // the agent has exited; the frame is final
}

// Holder is a Terminal that can hold the keys of people.
type Holder interface {
	// Hold delays the keys of people until release is called, for at most [HoldLimit] from the first key on. release is
	// nil if no keys are held: no person is attached, or holding is not possible.
	Hold(ctx context.Context) (release func(), err error)
}

// LimitedHolder is a Holder whose holds can last longer than HoldLimit.
type LimitedHolder interface {
	Holder

	// MaxHold returns the longest duration of the current hold, from its beginning, also while a person types.
	MaxHold() time.Duration
}

// HoldLimit is the longest time for which a [Holder] holds keys.
const HoldLimit = 2 * time.Second

// LineMode is the editor of typed input: the kernel or the program.
type LineMode uint8

// The line modes.
const (
	LineUnknown LineMode = iota
	LineRaw              // the program reads keys
	LineCooked           // the kernel edits a line (termios ICANON) of at most [MaxCookedLine] bytes
)

// MaxCookedLine is the longest line in bytes, without its Enter, in cooked mode. The kernel drops further bytes.
const MaxCookedLine = 4095

// InputState is the state of the input that was sent: read by the program or not. It may change without a new frame.
type InputState uint8

// The states.
const (
	InputUnknown InputState = iota
	InputRead               // the program has read all input
	InputWaiting            // some input is unread, so the screen does not show its effect yet
)
