package shimdriver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity/internal/driver"
	"gascity/internal/shim"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

var _ runtime.TerminalOpener = (*Sessions)(nil)

// The operations in the errors of a terminal.
const (
	opWatch = "watch"
	opType  = "type into"
)

// OpenTerminal implements runtime.TerminalOpener. A session without a terminal shows its last lines of output and cannot type.
func (s *Sessions) OpenTerminal(ctx context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
	op := opWatch
	if opts.Type {
		op = opType
		if !s.terminal {
			return nil, &runtime.Error{Op: op, Session: name, Err: fmt.Errorf("it has no terminal: %w", errors.ErrUnsupported)}
		}
	}
	l, err := s.Session(ctx, op, name)
	if err != nil {
		return nil, err
	}
	if l.Terminal != nil {
		stream, err := l.Client.Stream(ctx, shim.StreamRequest{Type: opts.Type})
		if err == nil {
			return &streamTerminal{name, opts.Type, stream}, nil
		}
		if opts.Type || !errors.Is(err, errors.ErrUnsupported) {
			return nil, ErrorOf(op, name, err)
		}
	}
	return newFrameTerminal(name, l.Client), nil
}

// streamTerminal implements runtime.Terminal by a stream of the shim.
type streamTerminal struct {
	name   string
	typing bool
	stream *shim.ScreenStream
}

// Next implements runtime.Terminal.
func (t *streamTerminal) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	return t.stream.Next(ctx)
}

// Write implements runtime.Terminal.
func (t *streamTerminal) Write(ctx context.Context, p []byte) error {
	if !t.typing {
		return &runtime.Error{Op: opType, Session: t.name, Err: runtime.ErrTerminalWatchOnly}
	}
	return ErrorOf(opType, t.name, t.stream.Type(ctx, p))
}

// Close implements runtime.Terminal.
func (t *streamTerminal) Close() error { return t.stream.Close() }

// frameTerminal implements runtime.Terminal by complete frames of the shim. It is used for sessions without a terminal, and for
// shims of an earlier release, which have no stream of frames.
type frameTerminal struct {
	*driver.ScreenStream

	name   string
	client *shim.Client
}

// completeFrameGap is the shortest time between two complete frames.
const completeFrameGap = 50 * time.Millisecond

func newFrameTerminal(name string, client *shim.Client) *frameTerminal {
	t := &frameTerminal{name: name, client: client}
	t.ScreenStream = driver.NewScreenStream(t.capture)
	return t
}

// capture returns the frame after the one with the number after. A frame of a shim without a terminal has only lines, and no
// size.
func (t *frameTerminal) capture(ctx context.Context, after uint64) (driver.Captured, error) {
	f, err := t.client.Frame(ctx, after)
	switch {
	case errors.Is(err, shim.ErrNoShim), errors.Is(err, shim.ErrExited), errors.Is(err, shim.ErrStale):
		return driver.Captured{Ended: true}, nil
	case err != nil:
		return driver.Captured{}, ErrorOf(opWatch, t.name, err)
	}
	c := driver.Captured{Seq: f.Seq, Cols: f.Cols, Rows: f.Rows, Ended: f.Exited, Pause: completeFrameGap}
	content := f.Redraw
	if f.Cols == 0 {
		c.Cols, c.Rows, content = shim.DefaultCols, shim.DefaultRows, []byte(strings.Join(f.Lines, "\r\n"))
	}
	c.Screen = vt.New(c.Cols, c.Rows, &vt.Options{Scrollback: -1})
	c.Screen.Write(content)
	return c, nil
}

// Write implements runtime.Terminal.
func (t *frameTerminal) Write(context.Context, []byte) error {
	return &runtime.Error{Op: opType, Session: t.name, Err: runtime.ErrTerminalWatchOnly}
}
