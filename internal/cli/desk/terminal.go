package desk

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
	columns, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
