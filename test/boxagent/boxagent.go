// Package boxagent is a program with an input box of package boxmodel on a real terminal: an
// agent whose input box behaves as its options say. It writes what it reads and what it
// consumes into a ledger, in the format of the fake agent's.
package boxagent

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"gascity/internal/fakeagent/ledger"
	"gascity/test/boxmodel"
)

// Name is what a program is called by that is to be the agent.
const Name = "boxagent"

// pasteBegin is what a terminal sends before pasted text.
const pasteBegin = "\x1b[200~"

// Called reports whether a test program was started to be the agent: by a link of that name.
func Called(argv0 string) bool { return filepath.Base(argv0) == Name }

// Flags returns the flags of an agent with the options, beside its ledger.
func Flags(o boxmodel.Options) (string, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	return "--options " + hex.EncodeToString(data), nil
}

// Main runs the agent until its terminal is gone or it gets a signal. It returns the exit
// status.
func Main(args []string) int {
	if err := run(args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "boxagent:", err)
		return 1
	}
	return 0
}

func run(args []string, in, out *os.File) error {
	f := flag.NewFlagSet(Name, flag.ContinueOnError)
	file := f.String("ledger", "", "append what happens to this file")
	options := f.String("options", "", "the options of the input box: JSON in hex")
	slow := f.Duration("slow-read", 0, "wait so long before each read")
	if err := f.Parse(args); err != nil {
		return err
	}
	_, rows, err := term.GetSize(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("the agent needs a terminal: %w", err)
	}
	a := &agent{out: out, rows: rows, slow: *slow, wake: make(chan struct{}, 1)}
	data, err := hex.DecodeString(*options)
	if err == nil {
		err = json.Unmarshal(data, &a.box.Options)
	}
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	if a.ledger, err = os.OpenFile(*file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	defer a.ledger.Close()
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("the agent needs a terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(in.Fd()), state) }()
	a.box.Submitted = a.submitted
	a.writeRecord(ledger.Record{Kind: ledger.Start, Argv: os.Args})
	if !a.box.NoPaste {
		a.print("\x1b[?2004h")
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	ended := make(chan error, 1)
	go func() { ended <- a.read(in) }() // the process ends with it
	a.mu.Lock()
	a.paint()
	a.mu.Unlock()
	select {
	case <-signals:
		return nil
	case err := <-ended:
		return err
	}
}

type agent struct {
	out    io.Writer
	ledger *os.File
	slow   time.Duration
	rows   int
	wake   chan struct{} // a turn has ended

	mu    sync.Mutex // guards the rest
	box   boxmodel.Box
	busy  bool
	drawn string
	late  []string // screens that are shown later, in their order
	seq   int
}

// writeRecord writes a record. An agent whose ledger fails is of no use: it ends.
func (a *agent) writeRecord(r ledger.Record) {
	a.seq++
	r.Seq, r.Run, r.Time = a.seq, os.Getpid(), time.Now()
	line, err := json.Marshal(r)
	if err == nil {
		_, err = a.ledger.Write(append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("boxagent: cannot write the ledger: %v", err))
	}
}

// escapeWait is how long an Escape may be the beginning of a sequence.
const escapeWait = 50 * time.Millisecond

// read reads keys until the terminal is gone.
func (a *agent) read(in *os.File) error {
	chunks := make(chan []byte)
	go func() { // it ends with the process
		defer close(chunks)
		buf := make([]byte, 4096)
		for {
			a.awaitTurn()
			if a.slow > 0 {
				<-time.After(a.slow)
			}
			n, err := in.Read(buf)
			if n > 0 {
				chunks <- bytes.Clone(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	var pending []byte
	for {
		var alone <-chan time.Time
		if len(pending) > 0 && strings.HasPrefix(pasteBegin, string(pending)) {
			alone = time.After(escapeWait)
		}
		select {
		case chunk, ok := <-chunks:
			if !ok {
				return nil
			}
			a.mu.Lock()
			a.writeRecord(ledger.Record{Kind: ledger.Key, Hex: hex.EncodeToString(chunk)})
			pending = a.feed(append(pending, chunk...))
			a.paint()
			a.mu.Unlock()
		case <-alone:
			a.mu.Lock()
			a.box.Type(string(pending), 1)
			pending = nil
			a.paint()
			a.mu.Unlock()
		}
	}
}

// awaitTurn waits for the end of a turn during which nothing is read.
func (a *agent) awaitTurn() {
	for {
		a.mu.Lock()
		wait := a.busy && a.box.TurnHides
		a.mu.Unlock()
		if !wait {
			return
		}
		<-a.wake
	}
}

// feed lets the box read what is whole, and returns the rest.
func (a *agent) feed(keys []byte) (rest []byte) {
	const begin, end = pasteBegin, "\x1b[201~"
	n := len(keys)
	for k := 1; k < utf8.UTFMax && k <= n; k++ {
		if utf8.RuneStart(keys[n-k]) {
			if !utf8.FullRune(keys[n-k:]) {
				n -= k
			}
			break
		}
	}
	s, rest := string(keys[:n]), keys[n:]
	for s != "" {
		at := strings.IndexByte(s, '\x1b')
		switch {
		case at < 0:
			at = len(s)
		case at > 0:
		case strings.HasPrefix(s, begin):
			stop := strings.Index(s, end)
			if stop < 0 {
				return append([]byte(s), rest...)
			}
			at = stop + len(end)
		case strings.HasPrefix(begin, s):
			return append([]byte(s), rest...)
		default:
			at = 1
		}
		a.box.Type(s[:at], 1)
		s = s[at:]
	}
	return rest
}

// submitted begins a turn with a prompt.
func (a *agent) submitted(text string, _ []boxmodel.Char) {
	a.writeRecord(ledger.Record{Kind: ledger.Prompt, Bytes: len(text), SHA256: ledger.Sum(text), Text: text, Source: "composer"})
	a.busy = true
	time.AfterFunc(a.box.Turn, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.busy = false
		a.paint()
		select {
		case a.wake <- struct{}{}:
		default: // it is going to look
		}
	})
}

// paint shows the present state, late where the program echoes late.
func (a *agent) paint() {
	lines, y := a.box.Screen(a.busy)
	if over := len(lines) - a.rows; over > 0 {
		lines, y = lines[over:], max(0, y-over)
	}
	x := 0
	if y < len(lines) {
		x = len([]rune(lines[y]))
	}
	screen := "\x1b[?2026h\x1b[H\x1b[J" + strings.Join(lines, "\r\n") + fmt.Sprintf("\x1b[%d;%dH\x1b[?2026l", y+1, x+1)
	if screen == a.drawn {
		return
	}
	a.drawn = screen
	if a.box.Echo == 0 {
		a.print(screen)
		return
	}
	a.late = append(a.late, screen)
	time.AfterFunc(a.box.Echo, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.print(a.late[0])
		a.late = a.late[1:]
	})
}

func (a *agent) print(s string) { _, _ = io.WriteString(a.out, s) } // a terminal that is gone ends the reading
