// Package console decides what to do with an interactive terminal: when an
// agent is ready, how a known dialog is answered, how a prompt is delivered and
// when a turn is over. It is written once, against screens, keys and events, for
// every driver that has a terminal.
//
// Nothing here waits for a fixed time. Every wait is for the next frame, with a
// deadline.
package console

import (
	"context"
	"errors"
	"time"

	"gascity/internal/term"
)

// ErrExited reports that the agent exited while something was expected of it.
var ErrExited = errors.New("agent has exited")

// Terminal is a session's terminal as the rules of this package see it. All
// methods are safe for concurrent use. One call of this package's functions at
// a time may send to a terminal: the driver holds its input lock around
// [Ready], [Dismiss], [Deliver] and [Interrupt].
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
	Cursor term.Cursor
	Modes  term.Modes
	Title  string

	// What the program tells of itself: its report (OSC 7501), its progress (OSC 9;4)
	// and its mark of shell integration (OSC 133).
	Status, Progress, Mark Sign

	// Cells returns visible row y with styles, asked for only where a style
	// decides; nil when the driver has none. It reads this frame, whatever comes
	// later.
	Cells func(y int) []term.Cell

	Line       LineMode
	LastOutput time.Time // when the last output byte came
	LastHuman  time.Time // when a person last typed through an attached terminal; zero if never
	Attached   int       // attached terminals with input
	Exited     bool      // the agent has exited; nothing will change any more
}

// Sign is something that a program tells of itself. Text is empty if it says nothing.
type Sign struct {
	Text  string
	Since time.Time // when it began to say so
}

// Holder is a Terminal that can keep back what people type.
type Holder interface {
	// Hold keeps it back until release is called, for at most [HoldLimit].
	Hold(ctx context.Context) (release func(), err error)
}

// Journal is a Terminal that keeps an account of deliveries, so that the truth about one
// that was cut off can be told, see [Resolve].
type Journal interface {
	// Begin notes a text before its first byte is sent. undo are the keys that take it
	// out of the input line; none if there are no such keys.
	Begin(ctx context.Context, text string, undo []byte) error
	// Enter writes the key that submits the text, noted before. [ErrTouched]: the key was
	// not sent.
	Enter(ctx context.Context, p []byte) error
	// EnterSeen is Enter where the input line was seen to hold the text.
	EnterSeen(ctx context.Context, p []byte) error
}

// ErrTouched reports that other input has come between a text and its Enter, which was not
// sent.
var ErrTouched = errors.New("the text was sent, Enter was not: other input came in between")

// HoldLimit is how long a [Holder] keeps people's input back.
const HoldLimit = 2 * time.Second

// LineMode is who edits the input line.
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
