package shim

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A line buffer keeps what a list of all lines would have at its end, however the output is
// cut into pieces.
func TestLinesAreTheLast(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 6).Draw(rt, "limit")
		l := newLineBuffer(limit)
		var all strings.Builder
		for _, piece := range rapid.SliceOf(rapid.SampledFrom([]string{"a", "bc ", "\n", "\n\n", "d\r\n", "\t\n", "longer text\n"})).Draw(rt, "pieces") {
			if _, err := l.Write([]byte(piece)); err != nil {
				rt.Fatal(err)
			}
			all.WriteString(piece)
		}
		want := strings.Split(all.String(), "\n")
		partial := want[len(want)-1]
		want = want[:len(want)-1]
		for i := range want {
			want[i] = strings.TrimRight(want[i], " \t\r")
		}
		want = want[max(0, len(want)-limit):]
		if p := strings.TrimRight(partial, " \t\r"); p != "" {
			want = append(want, p)
		}
		for len(want) > 0 && want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if got := l.Lines(0); !slices.Equal(got, want) {
			rt.Fatalf("%q with limit %d is %q, want %q", all.String(), limit, got, want)
		}
		n := rapid.IntRange(1, 8).Draw(rt, "n")
		if got, want := l.Lines(n), want[max(0, len(want)-n):]; !slices.Equal(got, want) {
			rt.Fatalf("the last %d of %q are %q, want %q", n, all.String(), got, want)
		}
	})
}

// Long lines do not make the memory grow.
func TestLongLinesAreBounded(t *testing.T) {
	l := newLineBuffer(10_000)
	line := []byte(strings.Repeat("x", 100<<10) + "\n")
	for range 1000 {
		if _, err := l.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	for _, line := range l.Lines(0) {
		size += len(line)
	}
	if size > maxLines || size < maxLines/2 {
		t.Errorf("of 100 MB of lines %d bytes are kept, want at most %d", size, maxLines)
	}
	l.ClearScrollback()
	if left := l.Lines(0); len(left) > 0 {
		t.Errorf("after clearing there are %d lines", len(left))
	}
}
