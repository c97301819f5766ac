package vt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/terminal/vt"
)

func TestRowsShowWhatAPersonWouldSee(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"text wraps", "hello world", []string{"hello worl", "d", ""}},
		{"line feed keeps the column", "ab\ncd", []string{"ab", "  cd", ""}},
		{"scrolls", "1\r\n2\r\n3\r\n4", []string{"2", "3", "4"}},
		{"cursor position", "\x1b[2;3Hx", []string{"", "  x", ""}},
		{"erase line", "abcdef\x1b[3G\x1b[K", []string{"ab", "", ""}},
		{"wide characters wrap whole", "123456789世", []string{"123456789", "世", ""}},
		{"combining marks", "e\u0301x", []string{"e\u0301x", "", ""}},
		{"special graphics", "\x1b(0lqk\x1b(B", []string{"┌─┐", "", ""}},
		{"unknown sequences", "a\x1b[1$2xb\x1b[?9999hc\x1b]999;x\ad\x1bP1;2qdata\x1b\\e\x1b_G\x1b\\f", []string{"abcdef", "", ""}},
		{"repeat", "ab\x1b[3b", []string{"abbbb", "", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := vt.New(10, 3, nil)
			s.Write([]byte(tt.in))
			if diff := cmp.Diff(tt.want, s.Rows()); diff != "" {
				t.Errorf("rows after %q (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestNoScrollback(t *testing.T) {
	s := vt.New(10, 3, &vt.Options{Scrollback: -1})
	s.Write([]byte("1\r\n2\r\n3\r\n4\r\n5\x1b[2J\x1b[H6\r\n7\r\n8"))
	for _, size := range [][2]int{{5, 2}, {20, 5}, {3, 1}, {10, 3}} {
		s.Resize(size[0], size[1])
		if s.ScrollbackLen() != 0 {
			t.Errorf("%d lines of scrollback at %v, want none", s.ScrollbackLen(), size)
		}
	}
	if got := s.Lines(0); len(got) != 1 || got[0] != "8" {
		t.Errorf("the cursor's row is lost: %q", got)
	}
}

func TestScrollbackKeepsTheNewestLines(t *testing.T) {
	s := vt.New(10, 3, &vt.Options{Scrollback: 100})
	for i := range 5000 {
		fmt.Fprintf(s, "line %d\r\n", i)
	}
	lines := s.Lines(0)
	if s.ScrollbackLen() != 100 || lines[0] != "line 4898" || lines[len(lines)-1] != "line 4999" {
		t.Errorf("%d lines from %q to %q", s.ScrollbackLen(), lines[0], lines[len(lines)-1])
	}
	s.Write([]byte("\x1b[3J"))
	if s.ScrollbackLen() != 0 || len(s.Lines(0)) != 2 {
		t.Errorf("after clearing: %d lines, %q", s.ScrollbackLen(), s.Lines(0))
	}
}

func TestHyperlinks(t *testing.T) {
	s := vt.New(20, 3, nil)
	s.Write([]byte("a\x1b]8;id=7;https://x/y;z\x1b\\\x1b[1mlink\x1b[m s\x1b]8;;\x1b\\b"))
	want := []string{"", "https://x/y;z", "https://x/y;z", "https://x/y;z", "https://x/y;z", "https://x/y;z", "https://x/y;z", ""}
	again := vt.New(20, 3, nil)
	again.Write(s.Redraw())
	for name, screen := range map[string]*vt.Screen{"screen": s, "redrawn": again} {
		for x, c := range screen.Row(0)[:len(want)] {
			if c.Style.Link != want[x] || (c.Style.LinkID == "7") != (want[x] != "") {
				t.Errorf("%s: link of column %d is %q id %q, want %q", name, x, c.Style.Link, c.Style.LinkID, want[x])
			}
		}
	}
}

// TestManyClustersAndColours makes the tables of rare texts and styles overflow, also
// while lines are wrapped again.
func TestManyClustersAndColours(t *testing.T) {
	s := vt.New(40, 5, nil)
	var want strings.Builder
	for i := range 12_000 {
		mark := string(rune('a'+i%26)) + string(rune(0x300+i/26%100)) + string(rune(0x300+i/2600))
		fmt.Fprintf(s, "\x1b[4;58;2;%d;%d;1m%s", i%256, i/256, mark)
		want.WriteString(mark)
	}
	check := func(when string) {
		t.Helper()
		if got := strings.Join(s.Lines(0), ""); got != want.String() {
			t.Errorf("%s: the text has changed", when)
		}
	}
	check("as written")
	s.Resize(33, 7)
	check("narrower")
	s.Resize(90, 3)
	check("wider")
	last := s.Row(s.Cursor().Y)[s.Cursor().X-1].Style.UnderlineColor
	if rgb, ok := last.RGB(); !ok || rgb != [3]uint8{11999 % 256, 11999 / 256, 1} {
		t.Errorf("underline colour of the last character is %v", rgb)
	}
}

func TestLinesCountFromTheEnd(t *testing.T) {
	s := vt.New(20, 3, nil)
	s.Write([]byte("one\r\ntwo  \r\nthree\r\nfour\r\n"))
	if got, want := s.Lines(0), []string{"one", "two", "three", "four"}; !cmp.Equal(got, want) {
		t.Errorf("Lines(0) = %q, want %q", got, want)
	}
	if got, want := s.Lines(3), []string{"two", "three", "four"}; !cmp.Equal(got, want) {
		t.Errorf("Lines(3) = %q, want %q", got, want)
	}
	if got, want := s.Lines(1), []string{"four"}; !cmp.Equal(got, want) {
		t.Errorf("Lines(1) = %q, want %q", got, want)
	}
}

func TestResizeWrapsAnew(t *testing.T) {
	s := vt.New(10, 4, nil)
	s.Write([]byte("abcdefghijklmno\r\nxy"))
	s.Resize(5, 4)
	if got, want := s.Lines(0), []string{"abcde", "fghij", "klmno", "xy"}; !cmp.Equal(got, want) {
		t.Errorf("after narrowing: %q, want %q", got, want)
	}
	s.Resize(20, 4)
	if got, want := strings.Join(s.Lines(0), "|"), "abcdefghijklmno|xy"; got != want {
		t.Errorf("after widening: %q, want %q", got, want)
	}
	if c := s.Cursor(); c.X != 2 {
		t.Errorf("cursor column %d, want 2", c.X)
	}
}

// Cells are those of the screen at the call, also after more styles and clusters than the screen keeps, and after a resize.
func TestCellsStayAsTheyWere(t *testing.T) {
	s := vt.New(20, 4, nil)
	print := func(text string) { _, _ = s.Write([]byte(text)) } // never fails
	print("plain \x1b[31mred\x1b[m e\u0301\r\n\x1b[44m\x1b[K\x1b[m\r\n\x1b]8;;http://a\alink\x1b]8;;\a 世")
	var want [][]vt.Cell
	for y := range 4 {
		want = append(want, s.Row(y))
	}
	cells := s.Cells()
	check := func(when string) {
		t.Helper()
		for y, row := range want {
			got := cells(y)
			for _, erased := range row[len(got):] {
				if erased != (vt.Cell{Text: " ", Width: 1}) {
					t.Fatalf("%s: row %d lacks %+v", when, y, erased)
				}
			}
			if diff := cmp.Diff(row[:len(got)], got); diff != "" {
				t.Errorf("%s: row %d:\n%s", when, y, diff)
			}
		}
		if cells(-1) != nil || cells(4) != nil {
			t.Errorf("%s: there is a row above or below the screen", when)
		}
	}
	check("at once")
	for i := range 20_000 {
		print(fmt.Sprintf("\x1b]8;;http://%d\aa%c\u0301\x1b]8;;\a", i, 'a'+i%26))
	}
	s.Resize(7, 3)
	check("later")
}
