package vt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"gascity/internal/terminal/vt"
)

// startOver brings tmux and a new model to the same state.
const startOver = "\x18\x1b\\\x1b[?1049l\x1bc\x1b[?1049h\x1b[?1049l\x1b[?6l\x1b7\x1b[H\x1b[2J\x1b[3J"

// ink prints in the last column of every row, because tmux captures a row only up to the
// last printed column: it makes erased cells with a background visible.
func ink(cols, rows int) []byte {
	b := []byte("\x1b[?6l\x1b[?7l\x1b[4l\x1b[r\x1b[m")
	for y := range rows {
		b = fmt.Appendf(b, "\x1b[%d;%dHX", y+1, cols)
	}
	return b
}

// compare feeds in to tmux and to a new model and compares what they show.
func compare(t *testing.T, o *tmuxReference, name string, in []byte, cols, rows int) bool {
	t.Helper()
	s := vt.New(cols, rows, nil)
	both := func(p []byte) string {
		o.write(p)
		s.Write(p)
		return difference(o.picture(cols), pictureOf(s))
	}
	d := both(append([]byte(startOver), in...))
	if d == "" {
		if d = both(ink(cols, rows)); d != "" {
			d = "with the last column inked: " + d
		}
	}
	if d != "" {
		t.Errorf("%s: %.600q:\n%s", name, in, d)
	}
	return d == ""
}

func TestSameScreenAsTmuxByHand(t *testing.T) {
	const cols, rows = 20, 6
	o := startTmuxReference(t, cols, rows)
	for _, in := range []string{
		"hello", "hello\r\nworld\r\n\n\n\n\n\nx", "012345678901234567890123456789",
		"\x1b[31mred\x1b[0m plain \x1b[1;4;7mx", "\x1b[44mab\x1b[Kcd\r\n\x1b[Jx",
		"\x1b[44m\x1b[2Jx\n\n\n\n\n\n\n\n", "世界e\u0301x", "1234567890123456789世", "👩‍💻x", "❤️x", "👍🏽x", "x\u200d世", "é\u200dy", "世\u200dx", "世\u200d世", "x\u0301\u200d世y", "a👍🏽x", "é\u200dé", "x🏽y", "\u1100\u1161x", "นี่x", "\u00adx", "\u200bx\u200by", "x\ufe0fy", "☀\ufe0fy", "\u0600x", "xé\u0301\u0302\u0303y", "☀\u200dy", "🇩🇪x", "abc\x1b[2Dxx", "世\x1b[2Dx", "a\xff\xfeb", "a\xe2\x82b", "a\xe2\xe2\x82\xacb", "\u0301x",
		"x\u200dy", "\u200dx", "a\x00b\x7fc", "\x1b(0lqqk\x1b(Bx\x0e\x1b)0x\x0fx",
		"0123456789012345678\t\tx", "\ta\x1b[Zb", "ab\x1b[5bc", "\x1b[?7l0123456789012345678901234\x1b[?7h",
		"\x1b[?7l0123456789012345678世世x", "\x1b[4habc\r\x1b[4hxyz\x1b[4l", "\x1b[2;4rab\x1b[4Hc\n\nd", "\x1b[?6h\x1b[2;4r\x1b[3Hx",
		"0123456789012345678901\x1b[Ax\x1b[5;1H\b\bz", "01234567890123456789\b\bx", "01234567890123456789\x1b[Kx", "01234567890123456789\x1b[1Kx",
		"01234567890123456789\x1b[Dx", "01234567890123456789\x1b[Ax", "01234567890123456789\x1b[Cx", "01234567890123456789\x1b7\x1b[H\x1b8x",
		"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "\x1b[38:2::1:2:3mA\x1b[38:5:7mB\x1b[4:3mC\x1b[58;5;3mD\x1b[53mE",
		"a\r\nb\r\nc\x1b[2J\x1b[Hd", "a\r\nb\x1b[H\x1b[Jc", "\x1b[?1049habc\x1b[?1049ld", "ab\x1b[?47hcd\x1b[?47le", "\x1b[?47h01234567890123456789\x1b[?47lx", "\x1b[?1049h01234567890123456789\x1b[?1049lx", "01234567890123456789\x1b[?47hx",
		"\x1b#8\x1b[2;3H\x1b[2X\x1b[P\x1b[@", "a\x1b[3Sb", "a\x1b[2Tb", "a\x1b[Lb\x1b[Mc",
		"\x1bkname\x1b\\x", "\x1b_apc\x1b\\x", "\x1b^pm\x1b\\x", "\x1bP1$qm\x1b\\x", "\x1b[999999999999mx", "\x1b[1;;3Hx",
	} {
		compare(t, o, "by hand", []byte(in), cols, rows)
	}
}

func TestSameScreenAsTmuxGenerated(t *testing.T) {
	const cols, rows = 30, 8
	o := startTmuxReference(t, cols, rows)
	count := 3000
	if testing.Short() {
		count = 300
	}
	failed := 0
	for seed := range count {
		g := &generator{r: rand.New(rand.NewPCG(uint64(seed), 1)), cols: cols, rows: rows, wide: seed%3 == 2}
		in := g.sequence(5 + seed%40)
		if !compare(t, o, fmt.Sprintf("seed %d", seed), in, cols, rows) {
			if failed++; failed == 5 {
				t.Fatal("too many differences")
			}
		}
	}
}

// TestSameScreenAsTmuxRecorded plays recordings of real programs (see
// testdata/recorded/README.md) up to several points.
func TestSameScreenAsTmuxRecorded(t *testing.T) {
	const cols, rows = 80, 24
	o := startTmuxReference(t, cols, rows)
	files, err := filepath.Glob("testdata/recorded/*.raw")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	recordings := map[string][]byte{"agent": agentOutput(60_000)}
	for _, f := range files {
		if recordings[filepath.Base(f)], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	for name, raw := range recordings {
		for part := 1; part <= 8; part++ {
			cut := len(raw) * part / 8
			if part < 8 { // between sequences
				cut = max(0, bytes.LastIndex(raw[:cut], []byte("\x1b[")))
			}
			compare(t, o, fmt.Sprintf("%s up to byte %d", name, cut), raw[:cut], cols, rows)
		}
	}
}

func TestSameReflowAsTmux(t *testing.T) {
	const cols, rows = 30, 8
	o := startTmuxReference(t, cols, rows)
	for seed := range 300 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		wide := seed%3 == 0
		s := vt.New(cols, rows, nil)
		var log strings.Builder
		o.command("resize-window -x %d -y %d", cols, rows)
		write := func(p []byte) {
			o.write(p)
			s.Write(p)
		}
		write([]byte(startOver))
		steps := 6
		if wide {
			// tmux 3.3a may lose a line's wrap mark when a wide character does not fit
			// at the end of a row: then lines stay cut and the cursor is off.
			steps = 1
		}
		for range steps {
			text := reflowText(r, wide)
			write([]byte(text))
			fmt.Fprintf(&log, "%q ", text)
			c, h := 8+r.IntN(40), 2+r.IntN(14)
			o.command("resize-window -x %d -y %d", c, h)
			s.Resize(c, h)
			fmt.Fprintf(&log, "%dx%d ", c, h)
			if d := difference(o.picture(c), pictureOf(s)); d != "" {
				t.Fatalf("seed %d: %s\n%s", seed, log.String(), d)
			}
		}
	}
}

// TestSameAlternateResizeAsTmux shrinks the alternate screen, then leaves it. (Growing
// differs: tmux keeps what it cropped, we show blanks.)
func TestSameAlternateResizeAsTmux(t *testing.T) {
	const cols, rows = 30, 12
	o := startTmuxReference(t, cols, rows)
	for seed := range 100 {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		s := vt.New(cols, rows, nil)
		o.command("resize-window -x %d -y %d", cols, rows)
		c, h := cols-r.IntN(12), rows-r.IntN(7)
		// The text before must not wrap from the scrollback into the screen: tmux cuts it there.
		before := reflowText(r, false) + "\x1b[m\r\n\x1b[2J\x1b[H" + strings.Repeat("some words ", r.IntN(15))
		in := startOver + before + "\x1b[?1049h\x1b[H" + reflowText(r, false) + fmt.Sprintf("\x1b[%d;3H", 1+r.IntN(rows))
		for step, p := range []string{in, "\x1b[?1049l"} {
			o.write([]byte(p))
			s.Write([]byte(p))
			if step == 0 {
				o.command("resize-window -x %d -y %d", c, h)
				s.Resize(c, h)
			}
			want, got := o.picture(c), pictureOf(s)
			if step == 0 { // tmux reflows the main screen only when it is back
				want.Cells, want.History = want.Cells[want.History:], 0
				got.Cells, got.History = got.Cells[got.History:], 0
			}
			if d := difference(want, got); d != "" {
				t.Fatalf("seed %d step %d: %q to %dx%d:\n%s", seed, step, in, c, h, d)
			}
		}
	}
}

// reflowText is output of a program that writes lines, with wide characters if wanted.
func reflowText(r *rand.Rand, wide bool) string {
	var b strings.Builder
	for range r.IntN(9) {
		switch r.IntN(6) {
		case 0:
			b.WriteString("\x1b[3" + strconv.Itoa(r.IntN(8)) + "m")
		case 1:
			if wide {
				b.WriteString("世界 é " + strings.Repeat("宽", r.IntN(20)))
			}
		case 2:
			b.WriteString("\x1b[0m")
		}
		b.WriteString(strings.Repeat("some words in a line, ", r.IntN(4)))
		if r.IntN(4) > 0 {
			b.WriteString("\r\n")
		}
	}
	return b.String()
}

// TestExceptions pins where the model differs from tmux 3.3a on purpose.
func TestExceptions(t *testing.T) {
	tests := []struct{ reason, in, want string }{
		{"tmux drops what makes a character longer than 21 bytes; we keep 64", "👨\u200d👩\u200d👧\u200d👦x", "👨\u200d👩\u200d👧\u200d👦x"},
		{"tmux keeps half of a wide character that is overwritten in column 0", "世\x1b[Dx", " x"},
		{"tmux keeps half of a wide character that is cut by an erase", "世世\x1b[2G\x1b[K", ""},
		{"tmux 3.3a does not repeat characters beyond ASCII; later ones do", "世\x1b[2b", "世世世"},
		{"tmux does not insert before the first character after a wrap", "\x1b[2Hab\x1b[H01234567\x1b[4hxyz", "01234567xy|zab"},
		{"tmux prints nothing when wrapping is switched off behind the last column", "0123456789\x1b[?7lx", "012345678x"},
		{"tmux leaves old cells when more than half of a row is inserted", "abcdefgh\x1b[G\x1b[7@", "       abc"},
		{"tmux knows no tab forward, column or row relative moves", "a\x1b[Ib\r\x1b[3ac", "a  c    b"},
		{"tmux knows only the characters of its C library", "\U0001fae9x", "\U0001fae9x"},
		{"tmux has no soft reset", "\x1b[7m\x1b[4h\x1b[!pa\rb", "b"},
	}
	for _, tt := range tests {
		s := vt.New(10, 2, nil)
		s.Write([]byte(tt.in))
		if got := strings.Join(s.Rows(), "|"); strings.TrimRight(got, "|") != strings.TrimRight(tt.want, "|") {
			t.Errorf("%s: %q shows %q, want %q", tt.reason, tt.in, got, tt.want)
		}
	}
}

// TestSameWidthsAsTmux asks tmux for the width of every assigned character.
func TestSameWidthsAsTmux(t *testing.T) {
	o := startTmuxReference(t, 80, 24)
	s := vt.New(80, 24, nil)
	var batch []rune
	bad := 0
	check := func() {
		var in []byte
		for _, r := range batch {
			in = append(append(in, '\r', 'a'), string(r)...)
			in = append(in, "\x1b[6n"...)
		}
		o.send(in)
		for _, r := range batch {
			var y, x int
			if _, err := fmt.Fscanf(o.replies, "\x1b[%d;%dR", &y, &x); err != nil {
				t.Fatalf("no answer from tmux for %U: %v", r, err)
			}
			s.Write([]byte("\ra" + string(r)))
			if got := s.Cursor().X + 1; got != x {
				if bad++; bad < 20 {
					t.Errorf("%U %q: tmux goes to column %d, we to %d", r, r, x, got)
				}
			}
		}
		batch = batch[:0]
	}
	for r := rune(0xa0); r < 0x30000; r++ {
		isNew := slices.ContainsFunc(unicode15, func(span [2]rune) bool { return r >= span[0] && r <= span[1] })
		if !unicode.IsOneOf(assigned, r) || isNew {
			continue
		}
		if batch = append(batch, r); len(batch) == 1000 {
			check()
		}
	}
	check()
}

var assigned = []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cf}

// unicode15 are the characters that the C library behind tmux 3.3a here does not know yet;
// tmux drops them.
var unicode15 = [][2]rune{
	{0xcf3, 0xcf3},
	{0xece, 0xece},
	{0x10efd, 0x10eff},
	{0x1123f, 0x11241},
	{0x11b00, 0x11b09},
	{0x11f00, 0x11f59},
	{0x1342f, 0x1342f},
	{0x13439, 0x13455},
	{0x1b132, 0x1b132},
	{0x1b155, 0x1b155},
	{0x1d2c0, 0x1d2d3},
	{0x1df25, 0x1df2a},
	{0x1e030, 0x1e08f},
	{0x1e4d0, 0x1e4f9},
	{0x1f6dc, 0x1f6dc},
	{0x1f774, 0x1f776},
	{0x1f77b, 0x1f77f},
	{0x1f7d9, 0x1f7d9},
	{0x1fa75, 0x1fa77},
	{0x1fa87, 0x1fa88},
	{0x1faad, 0x1faaf},
	{0x1fabb, 0x1fabd},
	{0x1fabf, 0x1fabf},
	{0x1face, 0x1facf},
	{0x1fada, 0x1fadb},
	{0x1fae8, 0x1fae8},
	{0x1faf7, 0x1faf8},
	{0x2b739, 0x2b739},
}
