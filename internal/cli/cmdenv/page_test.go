package cmdenv

import (
	"bytes"
	"strings"
	"testing"

	"gascity/internal/terminal/vt"
)

// TestPageShowsTheLastColumn draws a row that is as wide as the terminal, and then a shorter one in its place.
func TestPageShowsTheLastColumn(t *testing.T) {
	const columns = 20
	var out bytes.Buffer
	base := New(Env{Stdout: &out, Stderr: &out, Width: func() int { return columns }, Height: func() int { return 5 }, IsTerminal: func(any) bool { return true }, Getenv: func(string) string { return "" }})
	p := &page{d: &base}
	screen := vt.New(columns, 5, nil)
	for _, row := range []string{strings.Repeat("-", columns-1) + ":", "short"} {
		if err := p.Draw(row + "\n"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), row+"\x1b[K") { // behind the last column, xterm and tmux erase that column
			t.Errorf("the row is erased to its end after its text: %q", out.String())
		}
		screen.Write(out.Bytes())
		out.Reset()
		if got := screen.Rows()[0]; strings.TrimRight(got, " ") != row {
			t.Errorf("the terminal shows %q, want %q", got, row)
		}
	}
}
