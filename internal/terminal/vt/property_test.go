package vt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/internal/terminal/vt"
)

// invariant reports what is wrong with the state of s, empty when nothing is.
func invariant(s *vt.Screen) string {
	cols, rows := s.Size()
	c := s.Cursor()
	if c.X < 0 || c.X >= cols || c.Y < 0 || c.Y >= rows {
		return fmt.Sprintf("cursor %+v outside %dx%d", c, cols, rows)
	}
	if top, bottom := s.Margins(); top < 0 || bottom >= rows || top > bottom {
		return fmt.Sprintf("scroll region %d-%d outside %d rows", top, bottom, rows)
	}
	for y := range rows {
		row := s.Row(y)
		if len(row) != cols {
			return fmt.Sprintf("row %d has %d cells, want %d", y, len(row), cols)
		}
		for x, cell := range row {
			padded := x+1 < cols && row[x+1].Width == 0
			switch {
			case cell.Width == 2 && !padded, cell.Width != 2 && padded:
				return fmt.Sprintf("row %d column %d: broken wide character %+v", y, x, row)
			case cell.Width == 0 && (x == 0 || cell.Text != ""), cell.Width > 0 && cell.Text == "":
				return fmt.Sprintf("row %d column %d: bad cell %+v", y, x, cell)
			}
		}
	}
	if got := s.Lines(0); len(got) > s.ScrollbackLen()+rows {
		return fmt.Sprintf("%d lines of %d+%d", len(got), s.ScrollbackLen(), rows)
	}
	return ""
}

// view is everything that two equal screens have in common.
type view struct {
	Rows    [][]vt.Cell
	Lines   []string
	Cursor  vt.Cursor
	Modes   vt.Modes
	Title   string
	Margins [2]int
}

// diff is cmp.Diff, but quick when there is none.
func (v view) diff(w view) string {
	if v.Cursor == w.Cursor && v.Modes == w.Modes && v.Title == w.Title && v.Margins == w.Margins &&
		slices.Equal(v.Lines, w.Lines) && slices.EqualFunc(v.Rows, w.Rows, slices.Equal[[]vt.Cell]) {
		return ""
	}
	return cmp.Diff(v, w)
}

func viewOf(s *vt.Screen) view {
	v := view{Lines: s.Lines(0), Cursor: s.Cursor(), Modes: s.Modes(), Title: s.Title()}
	v.Margins[0], v.Margins[1] = s.Margins()
	_, rows := s.Size()
	for y := range rows {
		v.Rows = append(v.Rows, s.Row(y))
	}
	return v
}

// checkOutput checks what holds for any output: no panic, the invariants, the same
// screen however the bytes are cut, and a true redraw.
func checkOutput(t interface{ Fatalf(string, ...any) }, in []byte, cols, rows, cut int) {
	s := vt.New(cols, rows, &vt.Options{Scrollback: 50, Reply: func([]byte) {}, Notify: func(vt.Notice) {}})
	s.Write(in)
	if msg := invariant(s); msg != "" {
		t.Fatalf("after %q: %s", in, msg)
	}
	want := viewOf(s)
	halves := vt.New(cols, rows, &vt.Options{Scrollback: 50})
	halves.Write(in[:cut])
	halves.Write(in[cut:])
	if diff := want.diff(viewOf(halves)); diff != "" {
		t.Fatalf("%q cut at %d differs (-whole +cut):\n%s", in, cut, diff)
	}
	if msg := redrawDiff(s, cols, rows); msg != "" {
		t.Fatalf("%q: %s", in, msg)
	}
	for _, size := range [][2]int{{cols/2 + 1, rows + 2}, {cols + 9, rows/2 + 1}, {1, 1}, {cols, rows}} {
		s.Resize(size[0], size[1])
		if msg := invariant(s); msg != "" {
			t.Fatalf("after %q and resize to %v: %s", in, size, msg)
		}
		if msg := redrawDiff(s, size[0], size[1]); msg != "" {
			t.Fatalf("after %q and resize to %v: %s", in, size, msg)
		}
	}
}

// redrawDiff plays s.Redraw to a fresh screen and describes the difference.
func redrawDiff(s *vt.Screen, cols, rows int) string {
	fresh := vt.New(cols, rows, nil)
	redraw := s.Redraw()
	fresh.Write(redraw)
	want, got := viewOf(s), viewOf(fresh)
	want.Lines, got.Lines = nil, nil
	if diff := want.diff(got); diff != "" {
		return fmt.Sprintf("redraw %q differs (-screen +redrawn):\n%s", redraw, diff)
	}
	if fresh.ScrollbackLen() != 0 {
		return fmt.Sprintf("redraw %q leaves %d lines of scrollback", redraw, fresh.ScrollbackLen())
	}
	// What happens next must be the same, too: leaving the alternate screen, restoring the cursor.
	if top, bottom := s.Margins(); s.Modes().Origin && (s.Cursor().Y < top || s.Cursor().Y > bottom) {
		return "" // no terminal lets us restore both cursor and saved cursor; see redrawCursor
	}
	for _, next := range []string{"x\x1b8y", "\x1b[?1049lz\tw\x1b8v"} {
		if strings.Contains(next, "?1049l") && !s.Modes().AltScreen {
			break // back to where the alternate screen was last entered, which is not redrawn
		}
		s.Write([]byte(next))
		fresh.Write([]byte(next))
		want, got := viewOf(s), viewOf(fresh)
		want.Lines, got.Lines = nil, nil
		if diff := want.diff(got); diff != "" {
			return fmt.Sprintf("redraw %q then %q differs (-screen +redrawn):\n%s", redraw, next, diff)
		}
	}
	return ""
}

func FuzzScreen(f *testing.F) {
	files, err := filepath.Glob("testdata/recorded/*.raw")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[:min(len(raw), 4000)], uint8(79), uint8(23), uint16(1234))
	}
	f.Add(agentOutput(4000), uint8(60), uint8(10), uint16(999))
	f.Add([]byte("\x1b[\n0"), uint8(9), uint8(4), uint16(2))
	f.Add([]byte("\x1b[?6h\x1b[2;4r\x1b[3HLast\x1b[?7lx世界\x1b[4h\x1b(0q\x0e\x1b[?1049hy\x1b[!p"), uint8(10), uint8(5), uint16(7))
	f.Fuzz(func(t *testing.T, in []byte, cols, rows uint8, cut uint16) {
		checkOutput(t, in, int(cols)%100+1, int(rows)%40+1, min(int(cut), len(in)))
	})
}

// TestAnyOutput is the short form of FuzzScreen over generated sequences.
func TestAnyOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols, rows := rapid.IntRange(3, 40).Draw(t, "cols"), rapid.IntRange(2, 12).Draw(t, "rows")
		seed := rapid.Uint64().Draw(t, "seed")
		g := &generator{r: rand.New(rand.NewPCG(seed, 0)), cols: max(cols, 8), rows: max(rows, 4), wide: seed%2 == 0}
		in := g.sequence(rapid.IntRange(1, 60).Draw(t, "items"))
		g.wide = !g.wide
		in = append(in, g.sequence(10)...)
		checkOutput(t, in, cols, rows, rapid.IntRange(0, len(in)).Draw(t, "cut"))
	})
}

func TestResizeThereAndBackKeepsTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const cols, rows = 40, 10
		s := vt.New(cols, rows, nil)
		seed := rapid.Uint64().Draw(t, "seed")
		r := rand.New(rand.NewPCG(seed, 0))
		for range 5 {
			s.Write([]byte(reflowText(r, true)))
		}
		want := unwrapped(s)
		for range rapid.IntRange(1, 5).Draw(t, "resizes") {
			s.Resize(rapid.IntRange(2, 120).Draw(t, "cols"), rapid.IntRange(1, 30).Draw(t, "rows"))
			if got := unwrapped(s); got != want {
				c, h := s.Size()
				t.Fatalf("at %dx%d the text is\n%q, was\n%q", c, h, got, want)
			}
		}
		s.Resize(cols, rows)
		if got := unwrapped(s); got != want {
			t.Fatalf("back at the old size the text is\n%q, was\n%q", got, want)
		}
	})
}

// unwrapped returns the text of scrollback and screen without spaces and line ends, which
// depend on the width.
func unwrapped(s *vt.Screen) string {
	return strings.ReplaceAll(strings.Join(s.Lines(0), ""), " ", "")
}

func TestNoAllocationInSteadyState(t *testing.T) {
	out := agentOutput(200_000)
	out = bytes.ReplaceAll(out, []byte("\x1b]0;"), []byte("\x1b]999;")) // titles are strings
	s := vt.New(200, 50, nil)
	for range 60 { // until the scrollback is full and its slabs are reused
		s.Write(out)
	}
	if s.ScrollbackLen() != vt.DefaultScrollback {
		t.Fatalf("scrollback has %d lines, want it full", s.ScrollbackLen())
	}
	if n := testing.AllocsPerRun(5, func() { s.Write(out) }); n > 4 {
		t.Errorf("%v allocations per 200 kB written, want about none", n)
	}
}
