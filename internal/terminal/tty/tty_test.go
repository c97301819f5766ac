package tty

import (
	"os"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestModes(t *testing.T) {
	for output, want := range map[string]Modes{
		"text":                               {},
		"\x1b[?2004h":                        {Paste: true, Known: true},
		"\x1b[?2004h\x1b[?2004l":             {Known: true},
		"\x1b[?1;2004;25h":                   {Paste: true, Known: true},
		"\x1b[?12004h\x1b[2004h\x1b[?2004$p": {},
		"\x1b[?2026h":                        {Synchronized: true},
		"\x1b[?2026h\x1b[?2026l":             {},
		"\x1b[?2004h\x1bc":                   {Known: true},
		"\x1b[?2004h\x1b[!p":                 {Paste: true, Known: true},
		"\x1b[?\x1b[?2004h":                  {Paste: true, Known: true},
		"\x1b[?99999999999999999999;2004h":   {Paste: true, Known: true},
	} {
		var m Modes
		m.Write([]byte(output))
		if m.Paste != want.Paste || m.Synchronized != want.Synchronized || m.Known != want.Known {
			t.Errorf("%q: %+v, want %+v", output, m, want)
		}
	}
}

// However output is cut into pieces, it means the same.
func TestModesInPieces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		output := rapid.SliceOfN(rapid.SampledFrom([]byte("\x1b[?!2004026;hlpc")), 0, 60).Draw(rt, "output")
		var whole, pieces Modes
		whole.Write(output)
		for rest := output; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			pieces.Write(rest[:n])
			rest = rest[n:]
		}
		if whole.Paste != pieces.Paste || whole.Synchronized != pieces.Synchronized || whole.Known != pieces.Known {
			rt.Fatalf("%q: whole %+v, in pieces %+v", output, whole, pieces)
		}
	})
}

// A program that reads keys has read them or not; nothing is known of an unfinished line.
func TestInputIsReadOrWaits(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	silent := false
	is := func(line Line, input Input) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; {
			got := StateOf(slave.Name())
			if got == (State{line, input, line == Cooked, silent}) {
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
	is(Cooked, InputUnknown)
	write("a line\n")
	is(Cooked, InputWaiting)
	if _, err := slave.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	is(Cooked, InputUnknown)
	settings, err := unix.IoctlGetTermios(int(slave.Fd()), getSettings)
	if err != nil {
		t.Fatal(err)
	}
	settings.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(int(slave.Fd()), setSettings, settings); err != nil {
		t.Fatal(err)
	}
	silent = true
	is(Cooked, InputUnknown)
	write("not finished")
	is(Cooked, InputUnknown)
	write(", now it is\r")
	is(Cooked, InputWaiting)
	if _, err := slave.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	is(Cooked, InputUnknown)
	silent = false
	settings.Lflag &^= unix.ICANON
	if err := unix.IoctlSetTermios(int(slave.Fd()), setSettings, settings); err != nil {
		t.Fatal(err)
	}
	is(Raw, InputRead)
	write("\x1b[B")
	is(Raw, InputWaiting)
	if _, err := slave.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	is(Raw, InputRead)
}

func TestWhatIsNoTerminalIsUnknown(t *testing.T) {
	for _, path := range []string{"/nowhere", os.DevNull} {
		if got := StateOf(path); got != (State{}) {
			t.Errorf("%s is %+v", path, got)
		}
	}
	if got := Foreground(1 << 30); got != 0 {
		t.Errorf("the foreground of no process is %d", got)
	}
}

func TestResizeTellsTheTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if err := Resize(slave.Name(), 33, 20); err != nil {
		t.Fatal(err)
	}
	if rows, cols, err := pty.Getsize(master); err != nil || cols != 33 || rows != 20 {
		t.Errorf("the terminal has %dx%d, %v", cols, rows, err)
	}
	if err := Resize(t.TempDir(), 33, 20); err == nil {
		t.Error("a folder was resized")
	}
}
