package shimdriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

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
	observed, err := s.live(ctx, op, name)
	if err != nil {
		return nil, err
	}
	if observed.Record.Terminal {
		stream, err := observed.Client.Stream(ctx, shim.StreamRequest{Type: opts.Type})
		if err == nil {
			return &streamTerminal{name, opts.Type, stream}, nil
		}
		if opts.Type || !errors.Is(err, errors.ErrUnsupported) {
			return nil, ErrorOf(op, name, err)
		}
	}
	return newFrameTerminal(name, observed.Client), nil
}

// streamTerminal implements runtime.Terminal by a stream of the shim.
type streamTerminal struct {
	name   string
	typing bool
	stream *shim.ScreenStream
}

// Next implements runtime.Terminal.
func (t *streamTerminal) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	f, err := t.stream.Next(ctx)
	return runtime.TerminalFrame{Cols: f.Cols, Rows: f.Rows, Output: f.Output, Ended: f.Ended}, err
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
	name   string
	client *shim.Client
	closed chan struct{}
	once   sync.Once

	// Used only by the caller of Next.
	renderer vt.Renderer
	seq      uint64
	cols     int
	rows     int
	ended    bool
	due      time.Time // earliest time of the next request
}

// completeFrameGap is the shortest time between two complete frames.
const completeFrameGap = 50 * time.Millisecond

func newFrameTerminal(name string, client *shim.Client) *frameTerminal {
	return &frameTerminal{name: name, client: client, closed: make(chan struct{})}
}

// Next implements runtime.Terminal.
func (t *frameTerminal) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var closing sync.WaitGroup
	defer closing.Wait()
	over := make(chan struct{})
	defer close(over)
	closing.Go(func() {
		select {
		case <-t.closed:
			cancel(io.EOF)
		case <-over:
		}
	})
	for {
		if t.ended {
			return runtime.TerminalFrame{}, io.EOF
		}
		gap := time.NewTimer(time.Until(t.due))
		select {
		case <-gap.C:
		case <-ctx.Done():
			gap.Stop()
			return runtime.TerminalFrame{}, context.Cause(ctx)
		}
		f, err := t.client.Frame(ctx, t.seq)
		t.due = time.Now().Add(completeFrameGap)
		switch {
		case ctx.Err() != nil:
			return runtime.TerminalFrame{}, context.Cause(ctx)
		case errors.Is(err, shim.ErrNoShim), errors.Is(err, shim.ErrExited), errors.Is(err, shim.ErrStale):
			t.ended = true
			return runtime.TerminalFrame{Cols: t.cols, Rows: t.rows, Ended: true}, nil
		case err != nil:
			return runtime.TerminalFrame{}, ErrorOf(opWatch, t.name, err)
		}
		if out, ok := t.draw(f); ok {
			return out, nil
		}
	}
}

// draw returns the output that changes the viewer's terminal from the previous frame to f, and makes f the previous frame. ok is
// false if nothing changes. A frame of a shim without a terminal has only lines, and no size.
func (t *frameTerminal) draw(f shim.Frame) (out runtime.TerminalFrame, ok bool) {
	first := t.cols == 0
	cols, rows, content := f.Cols, f.Rows, f.Redraw
	if cols == 0 {
		cols, rows, content = shim.DefaultCols, shim.DefaultRows, []byte(strings.Join(f.Lines, "\r\n"))
	}
	screen := vt.New(cols, rows, &vt.Options{Scrollback: -1})
	screen.Write(content)
	out = runtime.TerminalFrame{Cols: cols, Rows: rows, Output: t.renderer.Frame(screen, cols, rows), Ended: f.Exited}
	ok = len(out.Output) > 0 || f.Exited || cols != t.cols || rows != t.rows
	if first {
		out.Output = append([]byte(vt.RendererBegin), out.Output...)
	}
	t.seq, t.cols, t.rows, t.ended = f.Seq, cols, rows, f.Exited
	return out, ok
}

// Write implements runtime.Terminal.
func (t *frameTerminal) Write(context.Context, []byte) error {
	return &runtime.Error{Op: opType, Session: t.name, Err: runtime.ErrTerminalWatchOnly}
}

// Close implements runtime.Terminal.
func (t *frameTerminal) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}
