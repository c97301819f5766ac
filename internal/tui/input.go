package tui

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"gascity/internal/terminal/inject"
)

// keyGap is how long reading waits for a key to be handled. It is needed only if that key never reaches the dashboard.
const keyGap = 100 * time.Millisecond

// input reads the keys from the terminal. Behind a key that may give the terminal to an agent, an editor or the shell, it reads nothing until the
// dashboard has handled that key. So what a person has typed ahead stays in the terminal for the agent, and does nothing in the dashboard.
type input struct {
	*os.File
	fd uintptr // of File, read once: the reading goroutine may look at it while the file is closed

	handled chan struct{} // gets a token when the dashboard has handled such a key
	ended   chan struct{} // closed when the dashboard reads no more keys
	end     func()        // closes ended

	// What follows is used by the reading goroutine only.
	waits bool   // the last byte was such a key
	tail  []byte // the last bytes
	paste bool   // between the sequences around pasted text
}

func newInput(terminal *os.File) *input {
	in := &input{File: terminal, fd: terminal.Fd(), handled: make(chan struct{}, 1), ended: make(chan struct{})}
	in.end = sync.OnceFunc(func() { close(in.ended) })
	return in
}

// The sequences around pasted text.
const pasteBegin, pasteEnd = "\x1b[200~", "\x1b[201~"

// Fd returns the descriptor of the terminal.
func (in *input) Fd() uintptr { return in.fd }

// Read implements io.Reader. It returns io.EOF when the dashboard reads no more keys.
func (in *input) Read(p []byte) (int, error) {
	if in.waits {
		timer := time.NewTimer(keyGap)
		defer timer.Stop()
		select {
		case <-in.handled:
		case <-timer.C:
		case <-in.ended:
		}
		in.waits = false
	}
	select {
	case <-in.ended:
		return 0, io.EOF
	default:
	}
	for n := range p {
		if n > 0 && (in.waits || inject.UnreadInput(in.Fd()) == 0) {
			return n, nil
		}
		if got, err := in.File.Read(p[n : n+1]); got == 0 || err != nil {
			return n, err
		}
		in.follow(p[n])
	}
	return len(p), nil
}

// follow records a byte that was read from the terminal. It sets in.waits if the byte is a key, outside of pasted text, that may
// give the terminal to another program: Enter, Ctrl-g or Ctrl-z. Read then reads nothing until the dashboard has handled that key.
func (in *input) follow(b byte) {
	in.tail = append(in.tail[max(0, len(in.tail)-len(pasteBegin)+1):], b)
	switch {
	case bytes.Equal(in.tail, []byte(pasteBegin)):
		in.paste = true
	case bytes.Equal(in.tail, []byte(pasteEnd)):
		in.paste = false
	}
	const ctrlG, ctrlZ = 'G' - '@', 'Z' - '@'
	in.waits = !in.paste && (b == '\r' || b == ctrlG || b == ctrlZ)
}

// done is called when the dashboard has handled a key. The reader of keys waits for that after the keys that may give the terminal
// to another program (Enter attaches, Ctrl-g opens the editor, Ctrl-z suspends), so that the keys behind them are for that program.
func (in *input) done(key string) {
	if !strings.HasSuffix(key, "enter") && !strings.HasSuffix(key, "ctrl+g") && !strings.HasSuffix(key, "ctrl+z") {
		return
	}
	wake(in.handled)
}
