package vt

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A terminal that gets all frames shows what the screen shows.
func TestRendererFollowsTheScreen(t *testing.T) {
	pieces := []string{
		"hello ", "\r\n", "\x1b[31;1mred\x1b[m", "\x1b[H", "\x1b[2J", "世界", "\x1b[5;3H", "\x1b[K", "\x1b[44mblue\x1b[K\x1b[m",
		"\x1b[?1049h", "\x1b[?1049l", "\x1b[2;6r", "\x1b[r", "\x1b[L", "\x1b[M", "\x1b[3P", "\x1b[2@", "\x1b[?25l", "\x1b[?25h",
		"\x1b[?2004h", "\x1b[?1000h", "\x1b[?1006h", "\x1b]2;title\x07", "\x1b[7mrev\x1b[m", strings.Repeat("long line ", 9),
	}
	rapid.Check(t, func(rt *rapid.T) {
		cols, rows := rapid.IntRange(4, 40).Draw(rt, "cols"), rapid.IntRange(2, 12).Draw(rt, "rows")
		program, viewer := New(cols, rows, nil), New(cols, rows, nil)
		var r Renderer
		for range rapid.IntRange(1, 12).Draw(rt, "frames") {
			for range rapid.IntRange(0, 6).Draw(rt, "writes") {
				program.Write([]byte(rapid.SampledFrom(pieces).Draw(rt, "piece")))
			}
			viewer.Write(r.Frame(program, cols, rows))
			if got, want := dumpVisible(viewer), dumpVisible(program); got != want {
				rt.Fatalf("the viewer shows\n%s\nthe program\n%s", got, want)
			}
		}
	})
}

func TestRendererSendsNothingWhenNothingChanged(t *testing.T) {
	s := New(20, 5, nil)
	s.Write([]byte("hello"))
	var r Renderer
	r.Frame(s, 20, 5)
	if got := r.Frame(s, 20, 5); got != nil {
		t.Errorf("a second frame of the same screen is %q, want nothing", got)
	}
}

// A smaller terminal shows the part with the cursor, cut at its right edge.
func TestRendererCutsForASmallerTerminal(t *testing.T) {
	s := New(20, 6, nil)
	s.Write([]byte("one\r\ntwo\r\nthree\r\nfour 世界 and more\r\nfive"))
	viewer := New(6, 3, nil)
	var r Renderer
	viewer.Write(r.Frame(s, 6, 3))
	if got, want := strings.Join(viewer.Rows(), "|"), "three|four|five"; got != want {
		t.Errorf("the small terminal shows %q, want %q", got, want)
	}
}

func dumpVisible(s *Screen) string {
	var b strings.Builder
	for y := range s.rows {
		for _, c := range s.Row(y) {
			fmt.Fprintf(&b, "%s%v", c.Text, c.Style)
		}
		b.WriteByte('\n')
	}
	c := s.Cursor()
	fmt.Fprintf(&b, "%d,%d %v %s %v %v", c.X, c.Y, c.Visible, s.Title(), s.modes.BracketedPaste, s.modes.Mouse)
	return b.String()
}
