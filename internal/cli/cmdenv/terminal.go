package cmdenv

import (
	"os"
	"os/signal"
	"syscall"

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

// terminalSize returns the size of the terminal on standard output; zeros if standard output is no terminal.
func terminalSize() (columns, rows int) {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// TerminalSignals returns a channel of the signals that concern the page on the terminal, SIGWINCH and SIGTSTP, and the function
// that ends it.
func TerminalSignals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGWINCH, syscall.SIGTSTP)
	return c, func() { signal.Stop(c) }
}

// SuspendProcess stops this process, as Ctrl-Z does, until it is continued.
func SuspendProcess() error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	<-continued // this thread may run on for a moment before it is stopped
	return nil
}
