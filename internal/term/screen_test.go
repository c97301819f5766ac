package term_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/term"
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
			s := term.New(10, 3, nil)
			s.Write([]byte(tt.in))
			if diff := cmp.Diff(tt.want, s.Rows()); diff != "" {
				t.Errorf("rows after %q (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestLinesCountFromTheEnd(t *testing.T) {
	s := term.New(20, 3, nil)
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
	s := term.New(10, 4, nil)
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
