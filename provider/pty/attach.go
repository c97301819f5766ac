package pty

import (
	"cmp"
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

// errDetached is the cause when the person pressed a detach key or closed the terminal.
var errDetached = errors.New("detached")

// Attach implements runtime.Input.
func (p *Provider) Attach(name string) error {
	return p.AttachTerminal(context.Background(), name, runtime.AttachOptions{}) //nolint:forbidigo // the contract's method has no ctx
}

// AttachTerminal implements runtime.Attacher. Standard input and standard output of the process
// must be a terminal.
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
	s := newAttachment(name, conn, keys)
	s.hint = newHint(cmp.Or(runtime.KeyNames(opts.DetachKeys), runtime.KeyNames(defaultDetachKeys)), cols, rows)
	return s.run(ctx)
}

// attachment is the connection of one person's terminal to a session.
type attachment struct {
	conn net.Conn
	keys *detachKeys
	name string

	writing sync.Mutex // one message at a time
	typed   chan []byte
	sent    chan struct{} // closed when all input has been sent, or sending failed

	drawing sync.Mutex // guards standard output and hint
	hint    *hint      // nil: not shown, or not any more
}

// maxTyped is the number of input pieces that wait while the session accepts none. Further input is
// dropped. Detaching still works.
const maxTyped = 256

func newAttachment(name string, conn net.Conn, keys *detachKeys) *attachment {
	return &attachment{conn: conn, keys: keys, name: name, typed: make(chan []byte, maxTyped), sent: make(chan struct{})}
}

// While a person is attached, the window title is the session's. enterScreen saves the terminal's
// own title, and leaveScreen restores it, if the terminal supports this.
const (
	enterScreen = "\x1b[22;2t\x1b[?1049h\x1b[H\x1b[2J"
	leaveScreen = vt.RendererEnd + "\x1b[?1049l\x1b[23;2t"
)

// run connects the terminal to the session until the person detaches, the agent exits or ctx ends.
func (s *attachment) run(ctx context.Context) error {
	stdin, err := cancelableInput()
	if err != nil {
		return errors.Join(err, s.conn.Close())
	}
	state, err := xterm.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return errors.Join(err, s.conn.Close(), stdin.Close())
	}
	_, _ = io.WriteString(os.Stdout, enterScreen) // use the alternate screen; a failed write appears again in show
	ctx, end := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { end(s.show()) })
	wg.Go(func() { end(s.readInput(stdin)) })
	wg.Go(func() { s.forward() })
	wg.Go(func() { s.resize(ctx) })
	wg.Go(func() { s.endHint(ctx) })
	<-ctx.Done()
	err = errors.Join(s.conn.Close(), stdin.Close())
	wg.Wait()
	_, _ = io.WriteString(os.Stdout, leaveScreen)
	err = errors.Join(err, xterm.Restore(int(os.Stdin.Fd()), state))
	return errors.Join(s.printEndReason(context.Cause(ctx)), err)
}

// printEndReason prints the reason for the end of the attachment. It returns cause if the reason is
// not an expected one.
func (s *attachment) printEndReason(cause error) error {
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

// exitError is the cause when the agent has exited.
type exitError runtime.Exit

func (e *exitError) Error() string { return runtime.Exit(*e).String() }

// show writes the session's output to the terminal until the connection ends.
func (s *attachment) show() error {
	for {
		m, err := shim.ReadAttachMessage(s.conn)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
			err = io.EOF
		}
		if err != nil {
			return err
		}
		switch m.Kind { //nolint:exhaustive // the other kinds are sent by viewers
		case shim.AttachOutput:
			if err := s.draw(m.Payload); err != nil {
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

// lastInput is how long readInput waits, after a detach key, until earlier input has been sent.
const lastInput = 300 * time.Millisecond

// readInput reads the person's input until a detach key. It does not wait for the session while it
// reads.
func (s *attachment) readInput(stdin io.Reader) error {
	err := s.read(stdin)
	close(s.typed)
	select {
	case <-s.sent:
	case <-time.After(lastInput):
	}
	return err
}

// read passes what the person types to s.typed, until the person presses a detach key or the terminal is gone. It
// always returns errDetached. Input is dropped if the channel is full.
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
		if detach || err != nil { // an error means that the person's terminal is gone
			return errDetached
		}
	}
}

// forward sends the input to the session. It returns when sending fails; the reason is reported by [attachment.show].
func (s *attachment) forward() {
	defer close(s.sent)
	for input := range s.typed {
		if s.send(shim.AttachInput, input) != nil {
			return
		}
	}
}

// resize sends the size of the person's terminal to the shim, at first and after each change, until ctx ends or the
// connection is lost.
func (s *attachment) resize(ctx context.Context) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	defer signal.Stop(changed)
	for { // send the size at least once: it may have changed since the first reading
		cols, rows, err := xterm.GetSize(int(os.Stdout.Fd()))
		if err == nil {
			s.resizeHint(cols, rows)
			size := binary.BigEndian.AppendUint16(nil, uint16(cols))
			err = s.send(shim.AttachSize, binary.BigEndian.AppendUint16(size, uint16(rows)))
		}
		if err != nil {
			return // show also sees the end of the connection
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// send sends one message to the shim. Messages of different goroutines are not mixed.
func (s *attachment) send(kind shim.AttachKind, payload []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err := shim.AttachMessage{Kind: kind, Payload: payload}.WriteTo(s.conn)
	return err
}
