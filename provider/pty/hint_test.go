package pty

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gascity/internal/terminal/vt"
)

// TestHintOfAResizedTerminal: the end of the hint leaves the rows of the session on the terminal, also if the terminal has got its
// previous size again before the session's next output, which then draws only a difference.
func TestHintOfAResizedTerminal(t *testing.T) {
	const cols, rows = 60, 5
	for name, whole := range map[string]bool{"a difference follows": false, "the whole screen follows": true} {
		t.Run(name, func(t *testing.T) {
			session := vt.New(cols, rows, nil)
			var renderer vt.Renderer
			output := func(text string) []byte {
				if _, err := session.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
				return renderer.Frame(session, cols, rows)
			}
			s := newAttachment("one", nil, nil)
			s.hint = newHint("ctrl-q", cols, rows)
			shown := vt.New(cols, rows, nil)
			_, _ = shown.Write(standardOutput(t, func() error {
				if err := s.draw(output("first\r\nsecond\r\nthird\r\nfourth")); err != nil {
					return err
				}
				s.resizeHint(cols, rows+1)
				s.resizeHint(cols, rows)
				if whole {
					renderer = vt.Renderer{}
				}
				err := s.draw(output("\x1b[3;1Hx"))
				s.removeHint()
				return err
			}))
			got, want := shown.Rows(), session.Rows()
			if !whole { // what is below the hint is not known
				got, want = got[1:], want[1:]
			}
			if !slices.Equal(got, want) {
				t.Errorf("the terminal shows %q, want %q", got, want)
			}
			if s.currentHint() != nil {
				t.Error("the hint has not ended")
			}
		})
	}
}

// standardOutput returns what f writes to standard output.
func standardOutput(t *testing.T, f func() error) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "output")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = before }()
	if err := f(); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return written
}
