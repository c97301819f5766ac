package pty

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	xterm "golang.org/x/term"

	"gascity/internal/shim"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// errDetached ends an attach by the person's wish.
var errDetached = errors.New("detached")

// Attach implements runtime.Input.
func (p *Provider) Attach(name string) error {
	return p.AttachTerminal(context.Background(), name, runtime.AttachOptions{}) //nolint:forbidigo // the contract's method has no ctx
}

// AttachTerminal implements runtime.Attacher. The process's standard
// input and output must be a terminal.
func (p *Provider) AttachTerminal(ctx context.Context, name string, opts runtime.AttachOptions) error {
	const op = "attach to"
	live, err := p.Session(ctx, op, name)
	if err != nil {
		return err
	}
	keys, err := newDetachKeys(opts.DetachKeys)
	if err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	if !xterm.IsTerminal(int(os.Stdin.Fd())) || !xterm.IsTerminal(int(os.Stdout.Fd())) {
		return &runtime.Error{Op: op, Session: name, Err: errors.New("standard input and output are not a terminal")}
	}
	cols, rows, err := xterm.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	conn, err := live.Client.Attach(ctx, shim.AttachRequest{Cols: cols, Rows: rows, ReadOnly: opts.ReadOnly})
	if err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	return newAttachment(name, conn, keys).run(ctx)
}

// attachment is one person's place at a session.
type attachment struct {
	conn net.Conn
	keys *detachKeys
	name string

	writing sync.Mutex // one message at a time
	typed   chan []byte
	sent    chan struct{} // closed when all that was typed has been sent, or cannot be
}

// maxTyped is how many pieces of input wait for a session that takes none. What
// comes after that is dropped; detaching works all the same.
const maxTyped = 256

func newAttachment(name string, conn net.Conn, keys *detachKeys) *attachment {
	return &attachment{conn: conn, keys: keys, name: name, typed: make(chan []byte, maxTyped), sent: make(chan struct{})}
}

// The window title is the session's while somebody is attached. The terminal's own
// is put on a stack and taken back, where it has one.
const (
	enterScreen = "\x1b[22;2t\x1b[?1049h\x1b[H\x1b[2J"
	leaveScreen = vt.RendererEnd + "\x1b[?1049l\x1b[23;2t"
)

// run connects the terminal until the person detaches, the agent ends or ctx does.
func (s *attachment) run(ctx context.Context) error {
	stdin, err := cancelableInput()
	if err != nil {
		return errors.Join(err, s.conn.Close())
	}
	state, err := xterm.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return errors.Join(err, s.conn.Close(), stdin.Close())
	}
	_, _ = io.WriteString(os.Stdout, enterScreen) // a screen of our own; what cannot be drawn shows at once
	ctx, end := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { end(s.show()) })
	wg.Go(func() { end(s.readInput(stdin)) })
	wg.Go(func() { s.forward() })
	wg.Go(func() { s.resize(ctx) })
	<-ctx.Done()
	err = errors.Join(s.conn.Close(), stdin.Close())
	wg.Wait()
	_, _ = io.WriteString(os.Stdout, leaveScreen)
	err = errors.Join(err, xterm.Restore(int(os.Stdin.Fd()), state))
	return errors.Join(s.printReason(context.Cause(ctx)), err)
}

// printReason says why the attach ended, on the terminal that is the person's again.
func (s *attachment) printReason(cause error) error {
	var exit *exitError
	switch {
	case errors.Is(cause, errDetached):
		fmt.Fprintf(os.Stderr, "[detached from %s]\n", s.name)
	case errors.As(cause, &exit):
		fmt.Fprintf(os.Stderr, "[%s %s]\n", s.name, runtime.Exit(*exit))
	case errors.Is(cause, io.EOF):
		fmt.Fprintf(os.Stderr, "[%s was stopped]\n", s.name)
	default:
		return cause
	}
	return nil
}

// exitError ends an attach because the agent has ended.
type exitError runtime.Exit

func (e *exitError) Error() string { return runtime.Exit(*e).String() }

// show writes what comes from the session.
func (s *attachment) show() error {
	for {
		m, err := shim.ReadAttachMessage(s.conn)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			err = io.EOF
		}
		if err != nil {
			return err
		}
		switch m.Kind { //nolint:exhaustive // the others are a viewer's
		case shim.AttachOutput:
			if _, err := os.Stdout.Write(m.Payload); err != nil {
				return err
			}
		case shim.AttachExit:
			var exit shim.Exit
			if err := json.Unmarshal(m.Payload, &exit); err != nil {
				return err
			}
			return &exitError{Code: exit.Code, Signal: exit.Signal, At: exit.At}
		}
	}
}

// lastInput is how long what was typed before a detach key has to reach the session.
const lastInput = 300 * time.Millisecond

// readInput takes what the person types until it is a detach key. It never waits for
// the session.
func (s *attachment) readInput(stdin io.Reader) error {
	err := s.read(stdin)
	close(s.typed)
	timer := time.NewTimer(lastInput)
	defer timer.Stop()
	select {
	case <-s.sent:
	case <-timer.C:
	}
	return err
}

func (s *attachment) read(stdin io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := stdin.Read(buf)
		input, detach := s.keys.feed(buf[:n])
		if len(input) > 0 {
			select {
			case s.typed <- input:
			default:
			}
		}
		if detach || err != nil { // an error is that the person's terminal is gone
			return errDetached
		}
	}
}

// forward sends what was typed. If the session is gone, show says so.
func (s *attachment) forward() {
	defer close(s.sent)
	for input := range s.typed {
		if s.send(shim.AttachInput, input) != nil {
			return
		}
	}
}

func (s *attachment) resize(ctx context.Context) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	for { // once at least: the size may have changed since it was first read
		cols, rows, err := xterm.GetSize(int(os.Stdout.Fd()))
		if err == nil {
			size := binary.BigEndian.AppendUint16(nil, uint16(cols))
			err = s.send(shim.AttachSize, binary.BigEndian.AppendUint16(size, uint16(rows)))
		}
		if err != nil {
			return // show sees the end, too
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *attachment) send(kind shim.AttachKind, payload []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := shim.AttachMessage{Kind: kind, Payload: payload}.WriteTo(s.conn)
	return err
}
