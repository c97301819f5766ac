package cmdenv

import (
	"errors"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// patience is how long a test waits for the terminal.
const patience = 10 * time.Second

// TestKeyBeforeRawModeIsRead types Ctrl-q before a program makes the terminal raw, as a person does who leaves an agent at once.
func TestKeyBeforeRawModeIsRead(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatalf("cannot open a pseudo terminal: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(tty.Close(), master.Close()); err != nil {
			t.Error(err)
		}
	})
	restore := DisableLineMode(tty)
	if _, err := master.WriteString("\x11."); err != nil { // the point makes the terminal readable if it takes Ctrl-q itself
		t.Fatal(err)
	}
	fd := int(tty.Fd())
	readable := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a small number
	if n, err := unix.Poll(readable, int(patience.Milliseconds())); err != nil || n == 0 {
		t.Fatalf("the terminal has no keys for a program: %v", err)
	}
	if _, err := term.MakeRaw(fd); err != nil {
		t.Fatal(err)
	}
	var got [1]byte
	if _, err := tty.Read(got[:]); err != nil || got[0] != 0x11 {
		t.Errorf("the program reads %q (%v), want Ctrl-q", got, err)
	}
	restore()
}
