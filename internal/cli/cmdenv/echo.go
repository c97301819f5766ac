package cmdenv

import (
	"os"

	"golang.org/x/sys/unix"
)

// disableEcho makes a terminal not show what is typed, if this process may change its settings, and returns the function that
// restores the settings. Keys that send signals keep their effect. What was typed meanwhile is dropped at the end.
func disableEcho(stream any) (restore func()) {
	return changeInput(stream, func(t *unix.Termios) { t.Lflag &^= unix.ECHO | unix.ICANON })
}

// DisableLineMode makes a terminal pass each key to the program that reads next, also Ctrl-q, which a terminal otherwise takes for
// itself, and shows none. It returns the function that restores the settings. Keys that send signals keep their effect.
func DisableLineMode(stream any) (restore func()) {
	return changeInput(stream, func(t *unix.Termios) {
		t.Lflag &^= unix.ECHO | unix.ICANON
		t.Iflag &^= unix.IXON
	})
}

// changeInput changes the settings of a terminal, if this process may do that, and returns the function that restores them.
func changeInput(stream any, change func(*unix.Termios)) (restore func()) {
	unchanged := func() {}
	file, ok := stream.(*os.File)
	if !ok || !IsTerminal(file) || inBackground(file) { // in the background, the change would stop the process
		return unchanged
	}
	fd := int(file.Fd())
	before, err := unix.IoctlGetTermios(fd, getSettings)
	if err != nil {
		return unchanged
	}
	changed := *before
	change(&changed)
	if err := unix.IoctlSetTermios(fd, setSettings, &changed); err != nil {
		return unchanged
	}
	return func() {
		_ = unix.IoctlSetTermios(fd, setSettings, before) // the terminal is gone on an error
	}
}

// inBackground reports whether a stream is the terminal of another process group. The answer is false if that is not known.
func inBackground(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok || !IsTerminal(file) {
		return false
	}
	group, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPGRP)
	return err == nil && group != unix.Getpgrp()
}
