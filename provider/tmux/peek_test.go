package tmux_test

import (
	"strings"
	"testing"
)

// TestPeekShowsLineDrawing: characters of the line drawing set are shown as lines, also with attributes between them, and no
// control sequence is in the text.
func TestPeekShowsLineDrawing(t *testing.T) {
	t.Parallel()
	r := newTestCity(t)
	r.shell("box", `printf '\033(0lqk\033(B lqk\n'
printf '\033(0x\033[1;31mx\033[0mx\n'
printf 'mqj\033(B größer 日本\n'
printf '\033]8;;http://localhost/q\033\\link\033]8;;\033\\ \033[4:3;38;2;1;2;3mq\033[0m\n'
printf '\033[41m   \033[0m\n'
exec cat`, nil)
	want := "┌─┐ lqk\n│││\n└─┘ größer 日本\nlink q"
	for _, lines := range []int{0, 4} {
		var text string
		until(t, "the program has printed", func() bool {
			var err error
			text, err = r.Peek("box", lines)
			return err == nil && strings.Contains(text, "link q")
		})
		if text != want {
			t.Errorf("Peek with %d lines = %q, want %q", lines, text, want)
		}
	}
	last, err := r.Peek("box", 2)
	if want := "└─┘ größer 日本\nlink q"; err != nil || last != want {
		t.Errorf("Peek with 2 lines = %q, %v, want %q", last, err, want)
	}
}
