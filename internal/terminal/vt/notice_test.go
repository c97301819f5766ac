package vt_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/terminal/vt"
)

// noticeOutput holds every notice once, between text and sequences that are none.
const noticeOutput = "text\a\x1b[31m\x1b]0;both ✳ title\x07more\x1b]2;window\x1b\\\x1b]1;icon\x07\x1bkname\x1b\\" +
	"\x1b]7;file://host/dir\x1b\\\x1b]9;4;1;50\x07\x1b]9;4;3\x07\x1b]9;hello\x07\x1b]777;notify;head;body;more\x07" +
	"\x1b]52;c;aGk=\x07\x1b]133;A\x07\x1b]133;C;cmd\x07\x1b]133;D;1;x\x07\x1b]133;D\x07\x1b]7501;state=busy;n=1\x1b\\" +
	"\x1b]2;bad\xff\x07\x1b]2;cancelled\x18\x1b]12345;x\x07\x1bPtmux;\x1b\x1b]2;inner\x07\x1b\\\x1b_]2;apc\x07\x1b\\\x1b]x\x07\x1b]9;4;9\x07"

func wantNotices() []vt.Notice {
	return []vt.Notice{
		{Kind: vt.Title, Text: "both ✳ title"},
		{Kind: vt.Title, Text: "window"},
		{Kind: vt.Progress, Text: "1;50"},
		{Kind: vt.Progress, Text: "3"},
		{Kind: vt.SemanticPrompt, Text: "A"},
		{Kind: vt.SemanticPrompt, Text: "C"},
		{Kind: vt.SemanticPrompt, Text: "D"},
		{Kind: vt.SemanticPrompt, Text: "D"},
		{Kind: vt.ProgramStatus, Text: "state=busy;n=1"},
	}
}

// TestNotices cuts the stream at every byte, for screen and scanner.
func TestNotices(t *testing.T) {
	for cut := range len(noticeOutput) {
		var got []vt.Notice
		collect := func(n vt.Notice) { got = append(got, n) }
		s := vt.New(80, 24, &vt.Options{Notify: collect})
		s.Write([]byte(noticeOutput[:cut]))
		s.Write([]byte(noticeOutput[cut:]))
		if diff := cmp.Diff(wantNotices(), got); diff != "" {
			t.Fatalf("screen, cut at %d (-want +got):\n%s", cut, diff)
		}
		if s.Title() != "window" || s.Rows()[0] != "textmore" {
			t.Fatalf("cut at %d: title %q, row %q", cut, s.Title(), s.Rows()[0])
		}
		got = nil
		scan(collect, []byte(noticeOutput[:cut]), []byte(noticeOutput[cut:]))
		if diff := cmp.Diff(wantNotices(), got); diff != "" {
			t.Fatalf("scanner, cut at %d (-want +got):\n%s", cut, diff)
		}
	}
}

func TestStringsAreCapped(t *testing.T) {
	var got []vt.Notice
	s := vt.New(80, 24, &vt.Options{Notify: func(n vt.Notice) { got = append(got, n) }})
	for _, start := range []string{"\x1b]2;", "\x1bP", "\x1b_", "\x1b^", "\x1bX"} {
		before := heap()
		s.Write([]byte(start))
		for range 16 {
			s.Write([]byte(strings.Repeat("x", 1<<20)))
		}
		if grown := heap() - before; grown > 4<<20 {
			t.Errorf("a string of 16 MB after %q holds %d bytes", start, grown)
		}
		s.Write([]byte("\x1b\\"))
	}
	s.Write([]byte("\x1b]2;after\x07shown"))
	if len(got) != 1 || got[0].Text != "after" || s.Rows()[0] != "shown" {
		t.Errorf("after the long strings: %v, row %q", got, s.Rows()[0])
	}
}

func TestTitleStack(t *testing.T) {
	s := vt.New(80, 24, nil)
	s.Write([]byte("\x1b]2;one\x07\x1b[22;2t\x1b]2;two\x07\x1b[22;0t\x1b]2;three\x07\x1b[23;0t"))
	if s.Title() != "two" {
		t.Errorf("title after one pop is %q, want two", s.Title())
	}
	s.Write([]byte("\x1b[23t\x1b[23t"))
	if s.Title() != "one" {
		t.Errorf("title after all pops is %q, want one", s.Title())
	}
}

func TestQueriesAreAnswered(t *testing.T) {
	tests := []struct{ query, want string }{
		{"\x1b[c", "\x1b[?1;2c"},
		{"\x1b[>c", "\x1b[>84;0;0c"},
		{"\x1b[=c", "\x1bP!|00000000\x1b\\"},
		{"\x1b[>q", "\x1bP>|gc\x1b\\"},
		{"\x1b[5n", "\x1b[0n"},
		{"\x1b[3;4H\x1b[6n", "\x1b[3;4R"},
		{"\x1b[3;80Hx\x1b[6n", "\x1b[3;80R"},
		{"\x1b[?6n", "\x1b[?1;1;1R"},
		{"\x1b[?6h\x1b[5;9r\x1b[2;3H\x1b[6n", "\x1b[2;3R"},
		{"\x1b[?996n", "\x1b[?997;1n"},
		{"\x1b[?2004$p", "\x1b[?2004;2$y"},
		{"\x1b[?2026h\x1b[?2026$p", "\x1b[?2026;1$y"},
		{"\x1b[?12345$p", "\x1b[?12345;0$y"},
		{"\x1b[4h\x1b[4$p", "\x1b[4;1$y"},
		{"\x1b[18t", "\x1b[8;24;80t"},
		{"\x1b[14t", "\x1b[4;384;640t"},
		{"\x1b[16t", "\x1b[6;16;8t"},
		{"\x1b[?u", "\x1b[?0u"},
		{"\x1b[>5u\x1b[?u", "\x1b[?5u"},
		{"\x1b[>5u\x1b[>1u\x1b[<u\x1b[=2;2u\x1b[?u", "\x1b[?7u"},
		{"\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"},
		{"\x1b]10;?\x1b\\", "\x1b]10;rgb:d8d8/d8d8/d8d8\x1b\\"},
		{"\x1b]10;?;?\x07", "\x1b]10;rgb:d8d8/d8d8/d8d8\x07\x1b]11;rgb:0000/0000/0000\x07"},
		{"\x1b]4;1;?;196;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07\x1b]4;196;rgb:ffff/0000/0000\x07"},
		{"\x1b]4;1;#ff0000\x07", ""},
		{"\x1b[1;38;5;9m\x1bP$qm\x1b\\", "\x1bP1$r0;1;91m\x1b\\"},
		{"\x1b[2;5r\x1bP$qr\x1b\\", "\x1bP1$r2;5r\x1b\\"},
		{"\x1b[4 q\x1bP$q q\x1b\\", "\x1bP1$r4 q\x1b\\"},
		{"\x1bP$qz\x1b\\", "\x1bP0$r\x1b\\"},
		{"\x1bP+q544e\x1b\\", "\x1bP0+r\x1b\\"},
		{"\x1b[1c\x1b[>1c\x1b[7n", ""},
		{"\x1bZ", "\x1b[?1;2c"},
	}
	for _, tt := range tests {
		var got strings.Builder
		s := vt.New(80, 24, &vt.Options{Reply: func(p []byte) { got.Write(p) }})
		s.Write([]byte(tt.query))
		if got.String() != tt.want {
			t.Errorf("answer to %q is %q, want %q", tt.query, got.String(), tt.want)
		}
	}
}

// scan feeds parts to a scanner.
func scan(notify func(vt.Notice), parts ...[]byte) {
	c := vt.NewScanner(notify)
	for _, p := range parts {
		_, _ = c.Write(p) // never fails
	}
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte(noticeOutput), uint16(40))
	f.Add([]byte("\x1b]0;x\x1b]2;y\x07\x1bPq\x1b\x1b\\\x1bk\x1b\\"), uint16(3))
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		n := min(int(cut), len(in))
		var whole, halves []vt.Notice
		scan(func(n vt.Notice) { whole = append(whole, n) }, in)
		scan(func(n vt.Notice) { halves = append(halves, n) }, in[:n], in[n:])
		if diff := cmp.Diff(whole, halves); diff != "" {
			t.Fatalf("%q cut at %d differs (-whole +cut):\n%s", in, n, diff)
		}
	})
}
