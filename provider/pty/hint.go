package pty

import (
	"context"
	"fmt"
	"os"
	"time"

	"gascity/internal/retry"
	"gascity/internal/terminal/vt"
)

// hintTime is how long an attached terminal shows how to detach.
const hintTime = 4 * time.Second

// hint is the line over the session's screen that shows how to detach. The model has what the session shows, to show it again when
// the hint ends.
type hint struct {
	text       string
	cols, rows int
	model      *vt.Screen
}

// newHint returns the hint for a terminal; nil if there is no room.
func newHint(keys string, cols, rows int) *hint {
	text := " detach: " + keys + " "
	if keys == "" || len(text) >= cols || rows < 2 {
		return nil
	}
	return &hint{text: text, cols: cols, rows: rows, model: vt.New(cols, rows, &vt.Options{Scrollback: -1})}
}

// overlay returns the output that draws the hint at the right end of the first row. The cursor stays where it is.
func (h *hint) overlay() string {
	return fmt.Sprintf("\x1b7\x1b[1;%dH\x1b[0;7m%s\x1b[0m\x1b8", h.cols-len(h.text), h.text)
}

// draw writes output of the session to the terminal, with the hint over it.
func (s *attachment) draw(output []byte) error {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	if s.hint != nil {
		_, _ = s.hint.model.Write(output) // a screen accepts everything
		output = append(output, s.hint.overlay()...)
	}
	_, err := os.Stdout.Write(output)
	return err
}

// endHint removes the hint after [hintTime].
func (s *attachment) endHint(ctx context.Context) {
	if !retry.Sleep(ctx, hintTime) {
		return
	}
	s.drawing.Lock()
	defer s.drawing.Unlock()
	if s.hint == nil {
		return
	}
	var renderer vt.Renderer
	_, _ = os.Stdout.Write(renderer.Frame(s.hint.model, s.hint.cols, s.hint.rows)) // show sees the failure of a terminal that is gone
	s.hint = nil
}

// dropHint forgets the hint. The size of the terminal has changed, so the next output of the session draws the whole screen.
func (s *attachment) dropHint() {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	s.hint = nil
}
