package vt_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gascity/internal/terminal/vt"
	"gascity/test/tier"
)

// TestDrawingEqualsTheScreen: terminals that get frames at different times show the screen, with styles, cursor and title.
func TestDrawingEqualsTheScreen(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	pieces := []string{
		"plain ", "\r\n", "日本語 ", "e\u0301", "\x1b[31;1mred\x1b[0m", "\x1b[2J", "\x1b[H", "\x1b[5;10H", "\x1b[K", "\x1b[L", "\x1b[M", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h",
		"\x1b[?2004h", "\x1b[?1000;1006h", "\x1b[?1000l", "\x1b]2;a title\x07", "\x1b[2;9r", "\x1b[r", "\x1b[3 q", strings.Repeat("wrapped ", 20), "\x1b[44m ", "\x1b[m", "\x1b=", "\x1b[?1h",
	}
	screen := vt.New(40, 12, nil)
	var d vt.Drawing
	type terminal struct {
		screen *vt.Screen
		shown  uint64
	}
	terminals := []*terminal{{screen: vt.New(9, 9, nil)}, {screen: vt.New(80, 24, nil)}, {screen: vt.New(40, 12, nil)}}
	for round := range tier.Runs(200, 1000) {
		screen.Write([]byte(pieces[random.IntN(len(pieces))]))
		if random.IntN(50) == 0 {
			screen.Resize(5+random.IntN(60), 3+random.IntN(20))
		}
		d.Update(screen, nil)
		for i, term := range terminals {
			if random.IntN(1+3*i) > 0 {
				continue
			}
			if random.IntN(40) == 0 {
				term.shown = 0 // its connection was lost
			}
			cols, rows := d.Size()
			term.screen.Resize(cols, rows)
			term.screen.Write(d.Frame(nil, term.shown))
			term.shown = d.Version()
			if got, want := shownOn(term.screen), shownOn(screen); got != want {
				t.Fatalf("round %d: terminal %d shows\n%s\nwant\n%s", round, i, got, want)
			}
		}
	}
	if frame := d.Frame(nil, d.Version()); len(frame) > 0 {
		t.Errorf("a frame without a change is %q", frame)
	}
}

// shownOn returns the cells, the cursor, the title and the modes for input of a screen.
func shownOn(s *vt.Screen) string {
	var b strings.Builder
	_, rows := s.Size()
	for y := range rows {
		fmt.Fprintln(&b, s.Row(y))
	}
	c, m := s.Cursor(), s.Modes()
	fmt.Fprintln(&b, c.X, c.Y, c.Visible, c.Shape, s.Title(), m.BracketedPaste, m.AppCursorKeys, m.AppKeypad, m.Mouse, m.MouseEncoding)
	return b.String()
}

// TestDrawingMasksRows: a secret is not drawn, also if it is wrapped.
func TestDrawingMasksRows(t *testing.T) {
	t.Parallel()
	mask := func(text string) string {
		for _, secret := range []string{"hunter2hunter2", "hunter\n2hunter2"} {
			text = strings.ReplaceAll(text, secret, "[hidden]")
		}
		return text
	}
	screen := vt.New(20, 4, nil)
	screen.Write([]byte("the key is \x1b[31mhunt\x1b[32mer\x1b[m2hunter2 it is\r\n\x1b[H\x1b[2Jx hunter2hunter2\r\n12345678901234hunter2hunter2 end\r\nplain"))
	var d vt.Drawing
	d.Update(screen, mask)
	shown := vt.New(20, 4, nil)
	shown.Write(d.Frame(nil, 0))
	if got, want := strings.Join(shown.Rows(), "|"), "x [hidden]|||plain"; got != want {
		t.Errorf("the drawing shows %q, want %q", got, want)
	}
}

// BenchmarkDrawing is the cost of a change of one row for many terminals.
func BenchmarkDrawing(b *testing.B) {
	screen := vt.New(200, 50, nil)
	for range 50 {
		screen.Write([]byte("\r\n" + strings.Repeat("\x1b[31mword \x1b[32mother ", 15)))
	}
	var d vt.Drawing
	i := 0
	for b.Loop() {
		i++
		screen.Write(fmt.Appendf(nil, "\x1b[10;1H%d", i))
		d.Update(screen, nil)
	}
}

// TestSpansEqualTheScreen: the spans of each row have the text, the columns and the styles of the cells, and rows that mask changes
// have no style.
func TestSpansEqualTheScreen(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 9))
	pieces := []string{"plain ", "\r\n", "日本語 ", "e\u0301", "\x1b[31;1mred\x1b[0m", "\x1b[38;2;1;2;3;4mrgb", "\x1b[8msecret\x1b[m", "\x1b[5;10H", "\x1b[K", "\x1b[44m  ", "\x1b[7m ", "\x1b[m", "key hunter2 "}
	mask := func(text string) string { return strings.ReplaceAll(text, "hunter2", "[hidden]") }
	screen := vt.New(30, 8, nil)
	var d vt.Drawing
	for round := range tier.Runs(200, 1000) {
		screen.Write([]byte(pieces[random.IntN(len(pieces))]))
		before := d.Version()
		d.Update(screen, mask)
		for y := range 8 {
			spans := d.Spans(screen, y)
			text, cols := "", 0
			for _, span := range spans {
				text += span.Text
				cols += span.Cols
			}
			want := ""
			concealed := false
			for x, c := range screen.Row(y) {
				if c.Style.Has(vt.Conceal) && c.Text != " " {
					concealed = true
				}
				if x < cols {
					want += c.Text
				}
			}
			row := screen.Rows()[y]
			switch {
			case mask(row) != row:
				if len(spans) != 1 || spans[0].Style != (vt.Style{}) || strings.Contains(text, "hunter2") {
					t.Fatalf("round %d: the masked row %q has the spans %+v", round, row, spans)
				}
			case concealed:
				if strings.Contains(text, "secret") && !strings.Contains(strings.ReplaceAll(want, "secret", ""), "secret") {
					t.Fatalf("round %d: concealed text is shown: %+v", round, spans)
				}
			case text != want || cols > 30 || strings.TrimRight(row, " ") != strings.TrimRight(text, " "):
				t.Fatalf("round %d: row %d has the spans %+v (%d columns), want %q", round, y, spans, cols, want)
			}
			x := 0
			for _, span := range spans {
				if len(spans) > 1 && screen.Row(y)[x].Style != span.Style {
					t.Fatalf("round %d: column %d of row %d has the style %+v, want %+v", round, x, y, span.Style, screen.Row(y)[x].Style)
				}
				x += span.Cols
			}
		}
		if before > 0 && before == d.Version() {
			for y := range 8 {
				if d.Changed(y, before) {
					t.Fatalf("round %d: row %d of an unchanged drawing has changed", round, y)
				}
			}
		}
	}
}
