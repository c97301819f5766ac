package shimdriver

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/shim"
	screenreader "gascity/internal/terminal/screen"
	"gascity/internal/terminal/tty"
	"gascity/internal/terminal/vt"
)

// terminal implements [screenreader.Terminal] for a shim's terminal.
type terminal struct{ client *shim.Client }

var (
	_ screenreader.Terminal = terminal{}
	_ screenreader.Holder   = terminal{}
)

// Frame implements screenreader.Terminal. If the shim or the agent has exited, it returns a frame with Exited set.
func (t terminal) Frame(ctx context.Context, after uint64) (screenreader.Frame, error) {
	f, err := t.client.Frame(ctx, after)
	if errors.Is(err, shim.ErrNoShim) || errors.Is(err, shim.ErrExited) {
		return screenreader.Frame{Seq: after + 1, Exited: true}, nil
	}
	if err != nil {
		return screenreader.Frame{}, err
	}
	if f.Cols == 0 {
		return screenreader.Frame{Seq: f.Seq, Rows: f.Lines, LastOutput: f.LastOutput, Exited: f.Exited}, nil
	}
	screen := vt.New(f.Cols, f.Rows, &vt.Options{Scrollback: -1})
	screen.Write(f.Redraw)
	return screenreader.Frame{
		Seq: f.Seq, Rows: screen.Rows(), Cursor: screen.Cursor(), Modes: screen.Modes(), Title: f.Title,
		Status: signOf(f.Signs.Status), Progress: signOf(f.Signs.Progress), Mark: signOf(f.Signs.Mark),
		Cells: screen.Row, Line: lineMode(f.Line), Input: inputOf(f.Input), Lines: f.Cooked, Silent: f.Silent, LastOutput: f.LastOutput, LastHuman: f.LastHuman, Attached: f.Attached, Exited: f.Exited,
	}, nil
}

func signOf(s shim.Sign) screenreader.Sign { return screenreader.Sign{Text: s.Text, Since: s.Since} }

// Hold delays what people type in attached terminals.
func (t terminal) Hold(ctx context.Context) (release func(), err error) {
	release, err = t.client.Hold(ctx)
	if errors.Is(err, shim.ErrNoShim) || errors.Is(err, shim.ErrExited) {
		return nil, screenreader.ErrExited
	}
	return release, err
}

// lineMode converts a line mode of the shim.
func lineMode(m shim.LineMode) screenreader.LineMode {
	switch m {
	case shim.LineRaw:
		return screenreader.LineRaw
	case shim.LineCooked:
		return screenreader.LineCooked
	default:
		return screenreader.LineUnknown
	}
}

// inputOf converts an input state of the terminal.
func inputOf(i tty.Input) screenreader.InputState {
	switch i {
	case tty.InputRead:
		return screenreader.InputRead
	case tty.InputWaiting:
		return screenreader.InputWaiting
	default:
		return screenreader.InputUnknown
	}
}

// outputOnly presents the output of an agent without a terminal as a screen. Its content can be awaited, but nothing can be
// typed into it.
type outputOnly struct{ terminal }

func (outputOnly) Send(context.Context, []byte) error {
	return fmt.Errorf("no keys without a terminal: %w", errors.ErrUnsupported)
}

func (t terminal) Send(ctx context.Context, p []byte) error {
	err := t.client.Send(ctx, p)
	if errors.Is(err, shim.ErrNoShim) || errors.Is(err, shim.ErrExited) {
		return screenreader.ErrExited
	}
	return err
}
