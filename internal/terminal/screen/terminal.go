// Package screen reads an interactive terminal: when an agent is ready, what it does,
// what it asks, when a turn is over; and it answers dialogs. It is written once, against
// screens, keys and events, for every driver that has a terminal. What types prompts is
// package inject.
//
// Nothing here waits for a fixed time. Every wait is for the next frame, with a
// deadline.
package screen

import (
	"context"
	"errors"
	"time"

	"gascity/internal/terminal/vt"
)

// ErrExited reports that the agent exited while something was expected of it.
var ErrExited = errors.New("agent has exited")

// Terminal is a session's terminal as the rules of this package see it. All
// methods are safe for concurrent use. One call of this package's functions at
// a time, or of package inject's, may send to a terminal: the driver holds its input
// lock around them.
type Terminal interface {
	// Frame returns the terminal's state. It waits until its sequence number is
	// greater than after, or the agent has exited, or ctx ends; zero returns at
	// once. Changes in between are coalesced: it is always the newest. The end
	// of ctx is the only way to learn that nothing changed, so it must be
	// honoured at once and the error must match ctx.Err().
	Frame(ctx context.Context, after uint64) (Frame, error)
	// Send writes input bytes in one piece: no other sender's bytes come in
	// between. It returns when all are accepted by the terminal, and blocks for
	// as long as the program does not read.
	Send(ctx context.Context, p []byte) error
}

// Frame is the state of a terminal at one moment.
type Frame struct {
	Seq    uint64   // above 0; increases with every change of output, title, status or human input
	Rows   []string // the visible rows, right trimmed
	Cursor vt.Cursor
	Modes  vt.Modes
	Title  string

	// What the program reports about itself: its status (OSC 7501), its progress (OSC
	// 9;4) and its mark of shell integration (OSC 133).
	Status, Progress, Mark Sign

	// Cells returns visible row y with styles, asked for only where a style
	// decides; nil when the driver has none. It reads this frame, whatever comes
	// later.
	Cells func(y int) []vt.Cell

	Line       LineMode
	Input      InputState
	Lines      bool      // the kernel collects a line, and Enter ends it; Input is InputWaiting until finished lines are read
	Silent     bool      // Lines, and the kernel shows nothing of a line
	LastOutput time.Time // when the last output byte came
	LastHuman  time.Time // when a person last typed through an attached terminal; zero if never
	Attached   int       // attached terminals with input
	Exited     bool      // the agent has exited; nothing will change any more
}

// Sign is one report of a program about itself. Text is empty if it says nothing.
type Sign struct {
	Text  string
	Since time.Time // when it began to say so
}

// Holder is a Terminal that can keep back what people type.
type Holder interface {
	// Hold keeps it back until release is called, for at most [HoldLimit] from the first key
	// on. Release is nil if there is no person to hold, or no way: nothing is kept back
	// then.
	Hold(ctx context.Context) (release func(), err error)
}

// LimitedHolder is a Holder whose holds last longer while their holder lives.
type LimitedHolder interface {
	Holder

	// MaxHold is how long the present hold lasts from its beginning, also while a
	// person types.
	MaxHold() time.Duration
}

// HoldLimit is how long a [Holder] keeps people's input back.
const HoldLimit = 2 * time.Second

// LineMode is who edits the input box.
type LineMode uint8

// The line modes.
const (
	LineUnknown LineMode = iota
	LineRaw              // the program reads keys
	LineCooked           // the kernel collects a line (termios ICANON) of at most [MaxCookedLine] bytes
)

// MaxCookedLine is the longest line, without its Enter, that a terminal in
// cooked mode can carry; the kernel drops what is beyond.
const MaxCookedLine = 4095

// InputState is the outcome of the input that was sent. It may change without a new frame.
type InputState uint8

// The states.
const (
	InputUnknown InputState = iota
	InputRead               // the program has read all of it
	InputWaiting            // the program has not: what it shows does not count the rest
)
