package inject

import (
	"golang.org/x/sys/unix"

	"gascity/internal/terminal/screen"
)

// LineState is the state of a terminal's input, as the kernel reports it.
type LineState struct {
	Line  screen.LineMode
	Input screen.InputState
	// Lines: the kernel edits lines, and a carriage return finishes one. Input is screen.InputWaiting until the program has read
	// all finished lines.
	Lines bool
	// Silent: Lines is true, the kernel does not echo, and [killLine] removes an unfinished line.
	Silent bool
}

// killLine is the key that removes the line that the kernel edits (Ctrl-U), interrupt the one that drops it (Ctrl-C).
const (
	killLine  = 0x15
	interrupt = 0x03
)

// LineStateOf returns the input state of the terminal at path. It opens the terminal without making it a controlling terminal.
// The kernel does not report whether an unfinished line was read, and may not count yet what was written a moment ago.
func LineStateOf(path string) LineState {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return LineState{}
	}
	defer unix.Close(fd)
	settings, err := unix.IoctlGetTermios(fd, getSettings)
	if err != nil {
		return LineState{}
	}
	waiting, err := unix.IoctlGetInt(fd, getWaiting)
	cooked := settings.Lflag&unix.ICANON != 0
	line, input := screen.LineRaw, screen.InputRead
	if cooked {
		line, input = screen.LineCooked, screen.InputUnknown
	}
	switch {
	case err != nil:
		input = screen.InputUnknown
	case waiting > 0:
		input = screen.InputWaiting
	}
	lines := cooked && err == nil && settings.Iflag&unix.ICRNL != 0 && settings.Iflag&unix.IGNCR == 0
	silent := lines && settings.Lflag&unix.ECHO == 0 && settings.Cc[unix.VKILL] == killLine
	return LineState{Line: line, Input: input, Lines: lines, Silent: silent}
}

// UnreadInput returns the number of bytes that can be read from a terminal now; 0 if that is not known.
func UnreadInput(fd uintptr) int {
	n, err := unix.IoctlGetInt(int(fd), getWaiting) //nolint:gosec // a descriptor is small
	if err != nil {
		return 0
	}
	return n
}
