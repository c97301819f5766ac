package shim

import (
	"bytes"
	"testing"
)

// TestALongUndoIsAccepted: the keys that undo a long text (2,048 backspaces and 200 pairs of
// keys of an extended keyboard mode) are accepted; else such a text is never typed.
func TestALongUndoIsAccepted(t *testing.T) {
	c := start(t, testFleet(t), spec("undo", `stty raw -echo; echo go; exec cat`))
	frameWith(t, c, "go")
	l := leaseOf(t, c)
	defer l.Close()
	undo := append(bytes.Repeat([]byte{0x7f}, 2048), bytes.Repeat([]byte("\x7f\x1b[101;5u\x1b[117;5u"), 200)...)
	must(t, l.Begin(t.Context(), "a", "text", undo))
}
