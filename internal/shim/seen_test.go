package shim

import (
	"errors"
	"strings"
	"testing"

	"gascity/internal/terminal/inject"
)

// TestInputForAFrame: input for a frame is written while the terminal shows that frame, and not
// after the program has written more.
func TestInputForAFrame(t *testing.T) {
	c := start(t, testFleet(t), spec("seen", `stty raw -echo; echo go; exec cat`))
	before := frameWith(t, c, "go")
	l := leaseOf(t, c)
	defer l.Close()
	must(t, l.Begin(t.Context(), "a", "text", nil))
	must(t, l.Send(t.Context(), []byte("<more>")))
	now := frameWith(t, c, "<more>")
	if err := l.TypeSeen(t.Context(), before.Seq, inject.InputEnter, []byte("<old>")); !errors.Is(err, inject.ErrChanged) {
		t.Errorf("input for an old frame: %v", err)
	}
	if e := entryOf(t, l, "a"); e.Entered {
		t.Errorf("it is noted although it was not written: %+v", e)
	}
	must(t, l.TypeSeen(t.Context(), now.Seq, inject.InputEnter, []byte("<new>")))
	frameWith(t, c, "<more><new>")
	if text, err := c.Text(t.Context(), 10); err != nil || strings.Contains(text, "<old>") {
		t.Errorf("the program got %q, %v", text, err)
	}
}
