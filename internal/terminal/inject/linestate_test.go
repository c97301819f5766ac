package inject

import (
	"os"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"gascity/internal/terminal/screen"
)

// A program that reads keys has read them or not; nothing is known of an unfinished line.
func TestInputIsReadOrWaits(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	silent := false
	is := func(line screen.LineMode, input screen.InputState) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; {
			got := LineStateOf(slave.Name())
			if got == (LineState{line, input, line == screen.LineCooked, silent}) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%+v, want line %d with input %d, silent %v", got, line, input, silent)
			}
			<-time.After(time.Millisecond)
		}
	}
	write := func(text string) {
		t.Helper()
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	is(screen.LineCooked, screen.InputUnknown)
	write("a line\n")
	is(screen.LineCooked, screen.InputWaiting)
	if _, err := slave.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	is(screen.LineCooked, screen.InputUnknown)
	settings, err := unix.IoctlGetTermios(int(slave.Fd()), getSettings)
	if err != nil {
		t.Fatal(err)
	}
	settings.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(int(slave.Fd()), setSettings, settings); err != nil {
		t.Fatal(err)
	}
	silent = true
	is(screen.LineCooked, screen.InputUnknown)
	write("not finished")
	is(screen.LineCooked, screen.InputUnknown)
	write(", now it is\r")
	is(screen.LineCooked, screen.InputWaiting)
	if _, err := slave.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	is(screen.LineCooked, screen.InputUnknown)
	silent = false
	settings.Lflag &^= unix.ICANON
	if err := unix.IoctlSetTermios(int(slave.Fd()), setSettings, settings); err != nil {
		t.Fatal(err)
	}
	is(screen.LineRaw, screen.InputRead)
	write("\x1b[B")
	is(screen.LineRaw, screen.InputWaiting)
	if _, err := slave.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	is(screen.LineRaw, screen.InputRead)
}

func TestWhatIsNoTerminalIsUnknown(t *testing.T) {
	for _, path := range []string{"/nowhere", os.DevNull} {
		if got := LineStateOf(path); got != (LineState{}) {
			t.Errorf("%s is %+v", path, got)
		}
	}
}
