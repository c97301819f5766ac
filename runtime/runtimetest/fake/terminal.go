package fake

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/runtime"
)

// terminalCols is the width of a simulated agent's screen.
const terminalCols = 120

// terminal implements runtime.Terminal for a simulated agent. It redraws the whole screen at each change.
type terminal struct {
	s      *session
	pid    int // process of the agent that the terminal was opened for
	typing bool
	closed chan struct{}
	once   sync.Once

	// Used only by the caller of Next.
	shown string
	begun bool
	ended bool
}

// OpenTerminal implements runtime.TerminalOpener.
func (f *Provider) OpenTerminal(_ context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
	if err := f.called("OpenTerminal", name, opts); err != nil {
		return nil, err
	}
	var t *terminal
	f.world.with(name, func(s *session) {
		if !s.aliveLocked() {
			return
		}
		t = &terminal{s: s, pid: s.agent.pid, typing: opts.Type, closed: make(chan struct{})}
		t.countLocked(1)
	})
	if t == nil {
		return nil, notFound("watch", name)
	}
	return t, nil
}

// countLocked changes the number of attached terminals if t may type.
func (t *terminal) countLocked(change int) {
	if !t.typing || t.s.world.sessions[t.s.name] != t.s {
		return
	}
	t.s.attached = max(0, t.s.attached+change)
	t.s.world.publishLocked(runtime.Event{Kind: runtime.EventAttached, Session: t.s.name, Attached: t.s.attached})
}

// aliveLocked reports whether the agent that the terminal was opened for runs.
func (t *terminal) aliveLocked() bool { return t.s.aliveLocked() && t.s.agent.pid == t.pid }

// Next implements runtime.Terminal.
func (t *terminal) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	if t.ended {
		return runtime.TerminalFrame{}, io.EOF
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	defer wait.Wait()
	done := make(chan struct{})
	defer close(done)
	wait.Go(func() {
		select {
		case <-t.closed:
			cancel(io.EOF)
		case <-done:
		}
	})
	var f runtime.TerminalFrame
	err := t.s.world.await(ctx, func() bool {
		text := strings.Join(lastLines(append(append([]string{}, t.s.output...), t.s.agent.screenLocked()...), screenLines), "\n")
		t.ended = !t.aliveLocked()
		if t.begun && !t.ended && text == t.shown {
			return false
		}
		t.begun, t.shown = true, text
		f = runtime.TerminalFrame{Cols: terminalCols, Rows: screenLines, Output: redraw(text), Ended: t.ended}
		return true
	})
	return f, err
}

// redraw returns the output that shows text on a terminal.
func redraw(text string) []byte {
	var b strings.Builder
	b.WriteString("\x1b[m\x1b[r\x1b[H\x1b[2J")
	for y, line := range strings.Split(text, "\n") {
		b.WriteString("\x1b[" + strconv.Itoa(y+1) + ";1H" + line)
	}
	return []byte(b.String())
}

// lastLines returns at most n lines from the end.
func lastLines(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

// Write implements runtime.Terminal.
func (t *terminal) Write(ctx context.Context, p []byte) error {
	fail := func(err error) error { return &runtime.Error{Op: "type into", Session: t.s.name, Err: err} }
	if !t.typing {
		return fail(runtime.ErrTerminalWatchOnly)
	}
	t.s.input.Lock() // a delivery holds it
	defer t.s.input.Unlock()
	if ctx.Err() != nil {
		return fail(context.Cause(ctx))
	}
	w := t.s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if !t.aliveLocked() {
		return fail(errors.Join(runtime.ErrSessionNotFound, io.ErrClosedPipe))
	}
	t.s.typed = time.Now()
	for _, r := range string(p) {
		switch r {
		case '\r':
			t.s.agent.enterLocked()
		case 0x7f:
			presses["BSpace"](t.s.agent)
		case 0x03:
			t.s.agent.interruptLocked()
		default:
			t.s.agent.draft += string(r)
		}
	}
	w.bumpLocked()
	return nil
}

// Close implements runtime.Terminal.
func (t *terminal) Close() error {
	t.once.Do(func() {
		close(t.closed)
		t.s.world.mu.Lock()
		defer t.s.world.mu.Unlock()
		t.countLocked(-1)
	})
	return nil
}
