package textfmt

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// written returns what a LineWriter makes of the text, given in pieces of size.
func written(t *testing.T, text string, cols, size int, follow bool) string {
	t.Helper()
	var out bytes.Buffer
	w := &LineWriter{Out: &out, Cols: cols, Follow: follow}
	for rest := []byte(text); len(rest) > 0; {
		n := min(size, len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestLinesAreAsATerminalShowsThem(t *testing.T) {
	long := strings.Repeat("abcdefghi ", 3) // 30 columns
	tests := []struct {
		given, want string
		cols        int
	}{
		{given: "plain\ttext\r\n", want: "plain\ttext\n"},
		{given: "no end", want: "no end"},
		{given: "$ \a\x1b[7mls\x1b[27m\b\bls\r\n", want: "$ ls\n"},
		{given: "$ \x1b[7mecho \"x\"\x1b[27m\r\x1b[C\x1b[Cecho \"x\"\r\n\x1b[?2004l\rx\r\n", want: "$ echo \"x\"\nx\n"},
		{given: "$ =.=\b\x1b[K\b\x1b[K\b\x1b[Kls\r\n", want: "$ ls\n"},
		{given: "10%\r20%\r100%\r\n", want: "100%\n"},
		{given: "\x1b[2K\rdone\x1b[3D\x1b[1P\n", want: "dne\n"},
		{given: "abc\x1b[2D\x1b[2@xy\n", want: "axybc\n"},
		{given: "abcdef\x1b[3G\x1b[2X\n", want: "ab  ef\n"},
		{given: "abcdef\x1b[3G\x1b[1K\n", want: "   def\n"},
		{given: "text   \r\n", want: "text\n"},
		{given: "before\x1b[H\x1b[2Jafter\r\n", want: "before\nafter\n"},
		{given: "one\x1b[5;1Htwo\x1b[6;1Hthree", want: "one\ntwo\nthree"},
		{given: "shell\x1b[?1049hfull", want: "shell\nfull"},
		{given: "漢字\b\bx\r\n", want: "漢x\n"},
		{given: "漢字\r x\r\n", want: " x字\n"},
		{given: "e\u0301x\b\be\n", want: "ex\n"},
		{given: "a\tb\rxx\ty\n", want: "xx      y\n"},
		{given: "\x1b]0;title\x07after\xff", want: "after\ufffd"},
		// readline at the right margin, and its redraw of a wrapped line
		{given: "$ 34567890 \rabc\r\n", want: "$ 34567890abc\n", cols: 10},
		{given: "$ \x1b[7m" + long + "\x1b[27m\x1b[A\x1b[A\x1b[A\r\x1b[C\x1b[C" + long + "\r\n", want: "$ " + strings.TrimRight(long, " ") + "\n", cols: 10},
		{given: "$ \x1b[7m" + long + "\x1b[27m\x1b[A\x1b[A\x1b[A\r\x1b[C\x1b[C" + long + "\r\n", want: "$ " + strings.TrimRight(long, " ") + "\n"},
		{given: "1234567890\rx\r\n", want: "x234567890\n", cols: 10},
		{given: "1234567890\b\bx\r\n", want: "1234567x90\n", cols: 10},
		// EL behind a full row, and EL with other parameters
		{given: "aaaaaaaaaaaaaaaaaaaZ\x1b[m\x1b[K and more\r\n", want: "aaaaaaaaaaaaaaaaaaaZ and more\n", cols: 20},
		{given: "aaaaaaaaaaaaaaaaaaaZ\x1b[m\x1b[0K and more\r\n", want: "aaaaaaaaaaaaaaaaaaaZ and more\n", cols: 20},
		{given: "12345678901234567890\b\x1b[K\r\n", want: "123456789012345678\n", cols: 20},
		{given: "abc\x1b[?K\n", want: "abc\n"},
		{given: "abc\x1b[3K\n", want: "abc\n"},
		{given: strings.Repeat("y", 3*maxLine) + "\nz\n", want: strings.Repeat("y", 3*maxLine) + "\nz\n"},
	}
	for _, c := range tests {
		for size := 1; size <= min(len(c.given), 40); size++ {
			if got := written(t, c.given, c.cols, size, false); got != c.want {
				t.Errorf("%.80q with %d columns in pieces of %d: %.80q, want %.80q", c.given, c.cols, size, got, c.want)
				break
			}
		}
	}
}

// TestFollowedLines: a part of a line is written at once; a line that has changed is written again.
func TestFollowedLines(t *testing.T) {
	var out bytes.Buffer
	w := &LineWriter{Out: &out, Follow: true}
	for _, step := range []struct{ given, want string }{
		{"Continue? ", "Continue?"},
		{"yes", " yes"},
		{"\b\b\byes\r\n", "\n"},
		{"10%", "10%"},
		{"\r20%", ""},
		{"\r30%\r\n", "\n30%\n"},
	} {
		out.Reset()
		if _, err := w.Write([]byte(step.given)); err != nil || out.String() != step.want {
			t.Errorf("%q: %q, want %q: %v", step.given, out.String(), step.want, err)
		}
	}
}

// TestTabsAreColumns: a line of tabs without an end is written when it has maxLine columns, as other lines are.
func TestTabsAreColumns(t *testing.T) {
	for _, cols := range []int{0, 20} {
		var out bytes.Buffer
		w := &LineWriter{Out: &out, Cols: cols}
		given := strings.Repeat("\t", maxLine)
		if _, err := w.Write([]byte(given)); err != nil {
			t.Fatal(err)
		}
		if len(w.line) >= maxLine || out.Len() == 0 {
			t.Errorf("%d columns of %d tabs wait with %d columns, %d bytes are written", len(w.line), maxLine, cols, out.Len())
		}
		if _, err := w.Write([]byte("x\n")); err != nil || out.String() != given+"x\n" {
			t.Errorf("with %d columns %d bytes are written, want %d: %v", cols, out.Len(), len(given)+2, err)
		}
	}
}

// TestFollowedLongLine: a part of a line above maxShown columns is written at the end of the line, or at the end of the output.
func TestFollowedLongLine(t *testing.T) {
	for _, end := range []string{"\n", ""} {
		var out bytes.Buffer
		w := &LineWriter{Out: &out, Follow: true}
		full := strings.Repeat("x", maxShown)
		for _, part := range []string{full, "y", "z"} {
			if _, err := w.Write([]byte(part)); err != nil || out.String() != full {
				t.Fatalf("after %.3q %d bytes are written, want %d: %v", part, out.Len(), len(full), err)
			}
		}
		if _, err := w.Write([]byte(end)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil || out.String() != full+"yz"+end {
			t.Errorf("with the end %q %d bytes are written, want %d: %v", end, out.Len(), len(full+"yz"+end), err)
		}
	}
}

// TestFollowedLineWithoutChangeIsNotBuilt: a write that does not change the line does not build its text again.
func TestFollowedLineWithoutChangeIsNotBuilt(t *testing.T) {
	allocations := func(follow bool) float64 {
		w := &LineWriter{Out: &bytes.Buffer{}, Follow: follow}
		if _, err := w.Write(bytes.Repeat([]byte("x"), maxShown)); err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(100, func() { _, _ = w.Write([]byte("\a")) }) // a bytes.Buffer accepts everything
	}
	if got, want := allocations(true), allocations(false); got != want {
		t.Errorf("a write without a change allocates %v times, want %v", got, want)
	}
}

// TestLinesWithoutMovementsStay: what only prints is as [Strip] leaves it, without blanks at the ends of lines.
func TestLinesWithoutMovementsStay(t *testing.T) {
	parts := []string{"a", " b", "漢", "é", "\t", "\r\n", "\n", "\x1b[1m", "\x1b[0m", "\x1b]0;t\x07", "\u202e", "😀"}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		var text strings.Builder
		for range 60 {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		want := Strip([]byte(text.String()))
		if got := written(t, text.String(), 0, 7, seed%2 == 0); got != want {
			t.Fatalf("%q: %q, want %q", text.String(), got, want)
		}
	}
}

func FuzzLinesControlNoTerminal(f *testing.F) {
	for _, seed := range []string{"\x1b[2J", "a\x9bb\b", "\x1b]0;x\x07", "é\x00\x7f", "\xff\xfe", "\u009b31m", "漢\b\x1b[3P\x1b[9@", "a\t\rb\x1b[1K"} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, given string, cols uint8) {
		for r := range strings.SplitSeq(written(t, given, int(cols), 5, true), "\n") {
			if r != Block(r) {
				t.Errorf("%q lets %q through", given, r)
			}
		}
	})
}

func BenchmarkLineWriter(b *testing.B) {
	text := []byte(strings.Repeat("\x1b[32mok\x1b[0m  gascity/internal/terminal/inject  46.985s\r\n", 20000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w := &LineWriter{Out: &bytes.Buffer{}, Cols: 220}
		if _, err := w.Write(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStrip(b *testing.B) {
	text := []byte(strings.Repeat("\x1b[32mok\x1b[0m  gascity/internal/terminal/inject  46.985s\r\n", 20000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Strip(text)
	}
}
