package local

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/console"
	"gascity/internal/shim"
	"gascity/internal/term"
	"gascity/internal/tty"
)

// terminal is a shim's terminal for the rules of package console.
type terminal struct{ client *shim.Client }

var (
	_ console.Terminal = terminal{}
	_ console.Holder   = terminal{}
)

func (t terminal) Frame(ctx context.Context, after uint64) (console.Frame, error) {
	f, err := t.client.Frame(ctx, after)
	if errors.Is(err, shim.ErrNone) || errors.Is(err, shim.ErrExited) {
		return console.Frame{Seq: after + 1, Exited: true}, nil
	}
	if err != nil {
		return console.Frame{}, err
	}
	if f.Cols == 0 {
		return console.Frame{Seq: f.Seq, Rows: f.Lines, LastOutput: f.LastOutput, Exited: f.Exited}, nil
	}
	screen := term.New(f.Cols, f.Rows, &term.Options{Scrollback: -1})
	screen.Write(f.Redraw)
	return console.Frame{
		Seq: f.Seq, Rows: screen.Rows(), Cursor: screen.Cursor(), Modes: screen.Modes(), Title: f.Title,
		Status: signOf(f.Signs.Status), Progress: signOf(f.Signs.Progress), Mark: signOf(f.Signs.Mark),
		Cells: screen.Row, Line: lineMode(f.Line), Input: inputOf(f.Input), Silent: f.Silent, LastOutput: f.LastOutput, LastHuman: f.LastHuman, Attached: f.Attached, Exited: f.Exited,
	}, nil
}

func signOf(s shim.Sign) console.Sign { return console.Sign{Text: s.Text, Since: s.Since} }

// Hold keeps back what people type through attached terminals.
func (t terminal) Hold(ctx context.Context) (release func(), err error) {
	release, err = t.client.Hold(ctx)
	if errors.Is(err, shim.ErrNone) || errors.Is(err, shim.ErrExited) {
		return nil, console.ErrExited
	}
	return release, err
}

func lineMode(m shim.LineMode) console.LineMode {
	switch m {
	case shim.LineRaw:
		return console.LineRaw
	case shim.LineCooked:
		return console.LineCooked
	default:
		return console.LineUnknown
	}
}

func inputOf(i tty.Input) console.InputState {
	switch i {
	case tty.InputRead:
		return console.InputRead
	case tty.InputWaiting:
		return console.InputWaiting
	default:
		return console.InputUnknown
	}
}

// listener is what an agent without a terminal printed, as if it were a screen.
// It can be waited for and not be typed into.
type listener struct{ terminal }

func (listener) Send(context.Context, []byte) error {
	return fmt.Errorf("no keys without a terminal: %w", errors.ErrUnsupported)
}

func (t terminal) Send(ctx context.Context, p []byte) error {
	err := t.client.Send(ctx, p)
	if errors.Is(err, shim.ErrNone) || errors.Is(err, shim.ErrExited) {
		return console.ErrExited
	}
	return err
}
