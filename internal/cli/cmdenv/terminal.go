package cmdenv

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether the stream is a file that is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// TerminalWidth returns the number of columns of the terminal on standard output; zero if
// standard output is no terminal.
func TerminalWidth() int {
	columns, _ := terminalSize()
	return columns
}

// TerminalHeight returns the number of rows of the terminal on standard output; zero if standard
// output is no terminal.
func TerminalHeight() int {
	_, rows := terminalSize()
	return rows
}

func terminalSize() (columns, rows int) {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}
