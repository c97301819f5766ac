package tmux

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"gascity/internal/driver"
	screenreader "gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
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
	s, err := p.Session(ctx, op, name)
	if err != nil {
		return nil, err
	}
	t := &streamTerminal{terminal: s.terminal, typing: opts.Type}
	t.ScreenStream = driver.NewScreenStream(t.capturedScreen)
	if opts.Type {
		p.panes.addTypist(t.pane, 1)
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
	*driver.ScreenStream

	typing bool
	closed sync.Once
}

// captureGap is the shortest time between two captures for a terminal. It is also captureShare times as long as the last one took:
// a capture is work for the server, which has all sessions.
const (
	captureGap   = 16 * time.Millisecond
	captureShare = 2
)

// capturedScreen captures the pane when it has changed since the screen with the number after.
func (t *streamTerminal) capturedScreen(ctx context.Context, after uint64) (driver.Captured, error) {
	seq, err := t.await(ctx, after)
	if err != nil {
		return driver.Captured{}, fold(opWatch, t.record.Name, err)
	}
	began := time.Now()
	c, err := t.look(ctx)
	if errors.Is(err, screenreader.ErrExited) {
		return driver.Captured{Ended: true}, nil
	}
	if err != nil {
		return driver.Captured{}, fold(opWatch, t.record.Name, err)
	}
	screen := driver.Captured{Seq: seq, Screen: c.screen(), Ended: c.state.Dead, Pause: max(captureGap, captureShare*time.Since(began))}
	screen.Cols, screen.Rows = c.size()
	screen.Screen.Write(c.finish(t.pane.pastes(c.fields[17], c.fields[18])))
	return screen, nil
}

// pastes reports whether the program of the pane has bracketed paste mode. The arguments are the values of the pane's options.
func (p *pane) pastes(paste, signs string) bool {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.restoreLocked(paste, signs)
	return p.scanner.Paste
}

// finish returns the output that sets the cursor, the title, and the modes that decide what a terminal sends.
func (c *captured) finish(paste bool) []byte {
	m := c.modes()
	b := []byte("\x1b[m\x1b[" + strconv.Itoa(parseNumber(c.fields[1])+1) + ";" + strconv.Itoa(parseNumber(c.fields[0])+1) + "H\x1b]2;" + c.state.Title + "\x1b\\")
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
	typed := sequence(
		cmd("set-option", "-p", "-t", t.record.target(), "@"+optionTyped, strconv.FormatInt(time.Now().UnixMilli(), 10)),
		t.record.outsideCommand(p),
	)
	if vt.IsFocusReport(p) {
		typed = tmuxCommand{} // not typing
	}
	unlock, err := t.provider.lockInput(ctx, t.record.Name)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if hasNoOpenDelivery(deliveryLogFile(t.provider.dir(t.record.Name))) {
		return fail(t.send(ctx, t.record.fence(), p, typed))
	}
	typist := &terminal{provider: t.provider, record: t.record, pane: t.pane}
	return fail(typist.sendOutsideDelivery(ctx, func(ctx context.Context, l *lease) error { return l.send(ctx, l.fence(), p, typed) }))
}

// Close implements runtime.Terminal.
func (t *streamTerminal) Close() error {
	t.closed.Do(func() {
		if t.typing {
			t.provider.panes.addTypist(t.pane, -1)
		}
	})
	return t.ScreenStream.Close()
}
