package tty

import "golang.org/x/sys/unix"

// Line is the editor of a terminal's input: the kernel or the program.
type Line uint8

// The editors.
const (
	Unknown Line = iota
	Raw          // the program reads keys
	Cooked       // the kernel edits lines
)

// Input is the state of the input of a terminal.
type Input uint8

// The states of input.
const (
	InputUnknown Input = iota
	InputRead          // the program has read all of it
	InputWaiting       // the program has not read all of it
)

// State is the state of a terminal's input, as the kernel reports it.
type State struct {
	Line  Line
	Input Input
	// Lines: the kernel edits lines, and a carriage return finishes one. Input is InputWaiting until the program has read
	// all finished lines.
	Lines bool
	// Silent: Lines is true, the kernel does not echo, and [KillLine] removes an unfinished line.
	Silent bool
}

// KillLine is the key that removes the line that the kernel edits.
const KillLine = 0x15

// StateOf returns the input state of the terminal at path. It opens the terminal without making it a controlling terminal.
// The kernel does not report whether an unfinished line was read, and may not count yet what was written a moment ago.
func StateOf(path string) State {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return State{}
	}
	defer unix.Close(fd)
	settings, err := unix.IoctlGetTermios(fd, getSettings)
	if err != nil {
		return State{}
	}
	waiting, err := unix.IoctlGetInt(fd, getWaiting)
	cooked := settings.Lflag&unix.ICANON != 0
	line, input := Raw, InputRead
	if cooked {
		line, input = Cooked, InputUnknown
	}
	switch {
	case err != nil:
		input = InputUnknown
	case waiting > 0:
		input = InputWaiting
	}
	lines := cooked && err == nil && settings.Iflag&unix.ICRNL != 0 && settings.Iflag&unix.IGNCR == 0
	silent := lines && settings.Lflag&unix.ECHO == 0 && settings.Cc[unix.VKILL] == KillLine
	return State{Line: line, Input: input, Lines: lines, Silent: silent}
}
