package tmux

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	screenreader "gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/internal/tmuxserver"
	"gascity/runtime"
)

var _ runtime.TerminalOpener = (*Provider)(nil)

// The operations in the errors of a terminal.
const (
	opWatch = "watch"
	opType  = "type into"
)

// OpenTerminal implements runtime.TerminalOpener. It captures the pane for each frame, with one command of the control client.
func (p *Provider) OpenTerminal(ctx context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
	op := opWatch
	if opts.Type {
		op = opType
	}
	s, err := p.live(ctx, op, name)
	if err != nil {
		return nil, err
	}
	driven := p.drivenSessionOf(s)
	t := &streamTerminal{terminal: driven.terminal, typing: opts.Type, closed: make(chan struct{})}
	if opts.Type {
		p.panes.addTypist(driven.pane, 1)
	}
	return t, nil
}

// attached returns the number of terminals of people: clients, and open terminals of this process that may type.
func (p *Provider) attached(s observation) int {
	return s.state.Attached + p.panes.typists(s.record.Name, s.record.hash())
}

// typists returns how many open terminals may send input to an instance, which name and hash identify.
func (t *paneCache) typists(name, hash string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if pane := t.sessions[name]; pane != nil && pane.hash == hash {
		return pane.typists
	}
	return 0
}

// addTypist changes the number of terminals that may type.
func (t *paneCache) addTypist(p *pane, change int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.typists += change
	if !p.dead {
		p.publishLocked(runtime.Event{Kind: runtime.EventAttached, Time: time.Now(), Attached: p.attached + p.typists})
	}
}

// streamTerminal implements runtime.Terminal for one instance.
type streamTerminal struct {
	*terminal

	typing bool
	closed chan struct{}
	once   sync.Once

	// Used only by the caller of Next.
	renderer   vt.Renderer
	seq        uint64
	cols, rows int
	ended      bool
	due        time.Time // earliest time of the next capture
}

// captureGap is the shortest time between two captures for a terminal. It is also captureShare times as long as the last one took:
// a capture is work for the server, which has all sessions.
const (
	captureGap   = 16 * time.Millisecond
	captureShare = 2
)

// Next implements runtime.Terminal.
func (t *streamTerminal) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var closing sync.WaitGroup
	defer closing.Wait()
	over := make(chan struct{})
	defer close(over)
	closing.Go(func() {
		select {
		case <-t.closed:
			cancel(io.EOF)
		case <-over:
		}
	})
	fail := func(err error) (runtime.TerminalFrame, error) {
		if ctx.Err() != nil {
			return runtime.TerminalFrame{}, context.Cause(ctx)
		}
		return runtime.TerminalFrame{}, fold(opWatch, t.record.Name, err)
	}
	for {
		if t.ended {
			return runtime.TerminalFrame{}, io.EOF
		}
		gap := time.NewTimer(time.Until(t.due))
		select {
		case <-gap.C:
		case <-ctx.Done():
			gap.Stop()
			return fail(ctx.Err())
		}
		seq, err := t.await(ctx, t.seq)
		if err != nil {
			return fail(err)
		}
		began := time.Now()
		c, err := t.look(ctx)
		t.due = time.Now().Add(max(captureGap, captureShare*time.Since(began)))
		if errors.Is(err, screenreader.ErrExited) {
			t.ended = true
			return runtime.TerminalFrame{Cols: t.cols, Rows: t.rows, Ended: true}, nil
		}
		if err != nil {
			return fail(err)
		}
		if f, ok := t.draw(c); ok {
			t.seq = seq
			return f, nil
		}
		t.seq = seq
	}
}

// draw returns what has changed since the last frame; ok is false if nothing has.
func (t *streamTerminal) draw(c captured) (f runtime.TerminalFrame, ok bool) {
	first := t.cols == 0
	cols, rows := c.size()
	screen := c.screen()
	screen.Write(c.finish(t.pane.pastes(c.fields[17], c.fields[18])))
	t.ended = c.state.Dead
	f = runtime.TerminalFrame{Cols: cols, Rows: rows, Output: t.renderer.Frame(screen, cols, rows), Ended: t.ended}
	ok = len(f.Output) > 0 || f.Ended || cols != t.cols || rows != t.rows
	if first {
		f.Output = append([]byte(vt.RendererBegin), f.Output...)
	}
	t.cols, t.rows = cols, rows
	return f, ok
}

// pastes reports whether the program of the pane has bracketed paste mode. The arguments are the values of the pane's options.
func (p *pane) pastes(paste, signs string) bool {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.restoreLocked(paste, signs)
	return p.modes.Paste
}

// finish returns the output that sets the cursor, the title, and the modes that decide what a terminal sends.
func (c *captured) finish(paste bool) []byte {
	m := c.modes()
	b := []byte("\x1b[m\x1b[" + strconv.Itoa(tmuxserver.ParseNumber(c.fields[1])+1) + ";" + strconv.Itoa(tmuxserver.ParseNumber(c.fields[0])+1) + "H\x1b]2;" + c.state.Title + "\x1b\\")
	set := func(on bool, seq string) {
		if on {
			b = append(b, seq...)
		}
	}
	set(!m.CursorVisible, "\x1b[?25l")
	set(m.AppCursorKeys, "\x1b[?1h")
	set(m.AppKeypad, "\x1b=")
	set(paste, "\x1b[?2004h")
	set(m.Mouse == vt.MouseNormal, "\x1b[?1000h")
	set(m.Mouse == vt.MouseButton, "\x1b[?1002h")
	set(m.Mouse == vt.MouseAny, "\x1b[?1003h")
	set(m.MouseEncoding == vt.MouseSGR, "\x1b[?1006h")
	set(m.MouseEncoding == vt.MouseUTF8, "\x1b[?1005h")
	return b
}

// Write implements runtime.Terminal. It holds the session's input lock, so it waits for the end of a delivery, and the time is
// stored in an option of the pane: the server only counts the keys of its clients.
func (t *streamTerminal) Write(ctx context.Context, p []byte) error {
	fail := func(err error) error { return fold(opType, t.record.Name, err) }
	if !t.typing {
		return fail(runtime.ErrTerminalWatchOnly)
	}
	typed := tmuxserver.Sequence(
		tmuxserver.Cmd("set-option", "-p", "-t", t.record.target(), "@"+tmuxserver.OptionTyped, strconv.FormatInt(time.Now().UnixMilli(), 10)),
		t.record.outsideCommand(p),
	)
	if text := string(p); text == focusIn || text == focusOut {
		typed = tmuxserver.Command{} // not typing
	}
	unlock, err := lockInput(ctx, t.provider.dir(t.record.Name))
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if hasNoOpenDelivery(deliveryLogFile(t.provider.dir(t.record.Name))) {
		return fail(t.send(ctx, t.record.fence(), p, typed))
	}
	s := drivenSession{record: t.record, provider: t.provider, pane: t.pane, terminal: &terminal{provider: t.provider, record: t.record, pane: t.pane}}
	return fail(s.sendOutsideDelivery(ctx, func(ctx context.Context, l *lease) error { return l.send(ctx, l.fence(), p, typed) }))
}

// The reports that the window of a terminal got or lost the focus.
const focusIn, focusOut = "\x1b[I", "\x1b[O"

// Close implements runtime.Terminal.
func (t *streamTerminal) Close() error {
	t.once.Do(func() {
		close(t.closed)
		if t.typing {
			t.provider.panes.addTypist(t.pane, -1)
		}
	})
	return nil
}
