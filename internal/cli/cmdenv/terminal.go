package cmdenv

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether the stream is a person's terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// TerminalWidth returns the columns of the terminal that the standard output is,
// zero if it is none.
func TerminalWidth() int {
	columns, _ := terminalSize()
	return columns
}

// TerminalHeight returns its rows.
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
