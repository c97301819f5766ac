package pty

import (
	"bytes"
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
	keys, text string
	cols, rows int
	model      *vt.Screen
	drawn      bool // the model has output
	partial    bool // the model has nothing yet, and the next output may draw only a part of the screen
	since      time.Time
}

// newHint returns the hint for a terminal; nil if there is no room.
func newHint(keys string, cols, rows int) *hint {
	text := " detach: " + keys + " "
	if keys == "" || len(text) >= cols || rows < 2 {
		return nil
	}
	return &hint{keys: keys, text: text, cols: cols, rows: rows, model: vt.New(cols, rows, &vt.Options{Scrollback: -1}), since: time.Now()}
}

// overlay returns the output that draws the hint at the right end of the first row. The cursor stays where it is.
func (h *hint) overlay() string {
	return fmt.Sprintf("\x1b7\x1b[1;%dH\x1b[0;7m%s\x1b[0m\x1b8", h.cols-len(h.text), h.text)
}

// follow writes output of the session to the model. The model of a resized terminal begins with the first output that draws the
// whole screen: the terminal may have got its previous size again before the session saw a change, and then only differences follow.
func (h *hint) follow(output []byte) {
	if h.partial && !bytes.Contains(output, []byte("\x1b[2J")) {
		return
	}
	_, _ = h.model.Write(output) // a screen accepts everything
	h.partial, h.drawn = false, h.drawn || len(output) > 0
}

// draw writes output of the session to the terminal, with the hint over it.
func (s *attachment) draw(output []byte) error {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	if s.hint != nil {
		s.hint.follow(output)
		output = append(output, s.hint.overlay()...)
	}
	_, err := os.Stdout.Write(output)
	return err
}

// endHint removes the hint after [hintTime], counted again from each change of the terminal's size.
func (s *attachment) endHint(ctx context.Context) {
	for {
		shown := s.currentHint()
		if shown == nil || !retry.Sleep(ctx, time.Until(shown.since.Add(hintTime))) {
			return
		}
		if s.currentHint() == shown {
			s.removeHint()
			return
		}
	}
}

func (s *attachment) currentHint() *hint {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	return s.hint
}

// removeHint draws the screen without the hint, if the model has the whole screen.
func (s *attachment) removeHint() {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	if s.hint == nil {
		return
	}
	if s.hint.drawn {
		var renderer vt.Renderer
		_, _ = os.Stdout.Write(renderer.Frame(s.hint.model, s.hint.cols, s.hint.rows)) // show sees the failure of a terminal that is gone
	}
	s.hint = nil
}

// resizeHint replaces the hint by one for the new size of the terminal, as when a person attaches to the tmux around it. The session
// draws the whole screen when it sees the new size.
func (s *attachment) resizeHint(cols, rows int) {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	if s.hint != nil && (cols != s.hint.cols || rows != s.hint.rows) {
		if s.hint = newHint(s.hint.keys, cols, rows); s.hint != nil {
			s.hint.partial = true
		}
	}
}
