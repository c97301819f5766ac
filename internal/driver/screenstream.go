package driver

import (
	"context"
	"io"
	"time"

	"gascity/internal/retry"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// Captured is the complete screen of a session at one moment.
type Captured struct {
	Seq        uint64     // of the screen; it increases with each change
	Screen     *vt.Screen // nil if the session has ended and shows nothing
	Cols, Rows int
	Ended      bool          // the session has ended; no other screen follows
	Pause      time.Duration // the shortest time until the next capture
}

// ScreenStream implements Next and Close of [runtime.Terminal] by complete screens of a session.
type ScreenStream struct {
	capture func(ctx context.Context, after uint64) (Captured, error)
	life    context.Context //nolint:containedctx // ends at Close
	end     context.CancelFunc

	// Used only by the caller of Next.
	renderer   vt.Renderer
	seq        uint64
	cols, rows int
	ended      bool
	due        time.Time // earliest time of the next capture
}

// NewScreenStream returns a stream of the screens that capture returns. capture waits for a screen whose number is greater than
// after.
func NewScreenStream(capture func(ctx context.Context, after uint64) (Captured, error)) *ScreenStream {
	life, end := context.WithCancel(context.Background()) //nolint:forbidigo // Close cancels it
	return &ScreenStream{capture: capture, life: life, end: end}
}

// Next implements runtime.Terminal.
func (s *ScreenStream) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(io.EOF) })()
	for !s.ended {
		if !retry.Sleep(ctx, time.Until(s.due)) {
			return runtime.TerminalFrame{}, context.Cause(ctx)
		}
		c, err := s.capture(ctx, s.seq)
		switch {
		case ctx.Err() != nil:
			return runtime.TerminalFrame{}, context.Cause(ctx)
		case err != nil:
			return runtime.TerminalFrame{}, err
		}
		s.due = time.Now().Add(c.Pause)
		if f, ok := s.draw(c); ok {
			return f, nil
		}
	}
	return runtime.TerminalFrame{}, io.EOF
}

// draw returns the output that changes the viewer's terminal from the previous screen to this one. ok is false if nothing
// changes.
func (s *ScreenStream) draw(c Captured) (f runtime.TerminalFrame, ok bool) {
	s.seq, s.ended = c.Seq, c.Ended
	if c.Screen == nil {
		return runtime.TerminalFrame{Cols: s.cols, Rows: s.rows, Ended: true}, true
	}
	first := s.cols == 0
	f = runtime.TerminalFrame{Cols: c.Cols, Rows: c.Rows, Output: s.renderer.Frame(c.Screen, c.Cols, c.Rows), Ended: c.Ended}
	ok = len(f.Output) > 0 || f.Ended || c.Cols != s.cols || c.Rows != s.rows
	if first {
		f.Output = append([]byte(vt.RendererBegin), f.Output...)
	}
	s.cols, s.rows = c.Cols, c.Rows
	return f, ok
}

// Close implements runtime.Terminal. It may be called twice.
func (s *ScreenStream) Close() error {
	s.end()
	return nil
}
