package runtime

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// TerminalOptions configure a [Terminal].
type TerminalOptions struct {
	// Type allows [Terminal.Write]. Without it the terminal only shows the session. A terminal that
	// may type counts as attached, see [Observation.Attached]; one that only shows does not.
	Type bool
}

// TerminalFrame is what has changed on a session's screen since the frame before.
type TerminalFrame struct {
	// Cols and Rows are the size of the session's own grid. A frame of another size than the one
	// before redraws the whole screen.
	Cols, Rows int
	// Output is for a terminal emulator of that size: it updates the screen, the cursor, the title and
	// the modes that decide which bytes keys and the mouse send. It has no queries.
	Output []byte
	// Ended means that this is the last frame: the agent has exited, or was replaced.
	Ended bool
	// Plain means that the driver cannot stream the screen. Output was made from [Output.Peek]: it is
	// text without colors and cursor, and it is read again only from time to time.
	Plain bool
}

// Terminal is a live view of a session's screen, see [OpenTerminal].
type Terminal interface {
	// Next waits until the screen has changed since the last call and returns the change. Changes
	// between two calls are one frame, so a slow caller gets fewer frames and never a queue. The first
	// frame redraws the whole screen, whatever the terminal emulator shows before. After a frame with
	// Ended, Next returns io.EOF. If ctx ends, no change is lost. If the connection to the session is
	// lost, the error matches [ErrRuntimeUnavailable]. Only one goroutine may call Next at a time.
	Next(ctx context.Context) (TerminalFrame, error)
	// Write sends p to the agent as input that a person typed: it waits until no prompt is being typed,
	// and later prompts wait as for any person who types. Without [TerminalOptions.Type] it returns
	// [ErrTerminalWatchOnly]. After an error p may have been sent partly.
	Write(ctx context.Context, p []byte) error
	// Close ends the view and unblocks Next. The session continues.
	Close() error
}

// TerminalOpener is the extension of drivers that can stream a session's screen to any number of
// callers. A terminal never changes the size of the session, by opening, writing or closing.
type TerminalOpener interface {
	// OpenTerminal opens a view of the running session. A session that does not exist, or whose agent
	// has exited, is [ErrSessionNotFound]. If the backend cannot stream, or cannot type and opts.Type
	// is set, the error matches [errors.ErrUnsupported]. ctx bounds only the call.
	OpenTerminal(ctx context.Context, name string, opts TerminalOptions) (Terminal, error)
}

// OpenTerminal opens a live view of a session's screen. Without the extension, a terminal that does not
// type shows the text of Peek, see [TerminalFrame.Plain], and one that is to type is an error that matches
// [errors.ErrUnsupported].
func OpenTerminal(ctx context.Context, p Provider, name string, opts TerminalOptions) (Terminal, error) {
	if o, ok := As[TerminalOpener](p, name); ok {
		t, err := o.OpenTerminal(ctx, name, opts)
		if err == nil || opts.Type || !errors.Is(err, errors.ErrUnsupported) {
			return t, err
		}
	}
	if opts.Type {
		return nil, &Error{Op: "type into", Session: name, Err: errors.ErrUnsupported}
	}
	if !p.IsRunning(name) {
		return nil, &Error{Op: "watch", Session: name, Err: ErrSessionNotFound}
	}
	return newPeekTerminal(p, name), nil
}

// peekTerminal is a terminal that shows the text of Peek. It reads the text only while a caller waits in
// Next.
type peekTerminal struct {
	provider Provider
	name     string
	closed   chan struct{}
	close    sync.Once

	// Used only by the caller of Next.
	shown string
	begun bool
	ended bool
	next  time.Time // earliest time of the next Peek
}

// The size of a plain frame and the pause between two calls of Peek. A Peek may start a process, so the pause
// is also at least peekShare times as long as the last call took.
const (
	plainRows             = 50
	minPlainCols          = 80
	maxPlainCols          = 500
	peekPause             = 500 * time.Millisecond
	peekShare             = 4
	firstWideRune    rune = 0x1100
	plainFrameStart       = "\x1b[m\x1b[r\x1b[?7l\x1b[?25l\x1b[H\x1b[2J"
	plainFrameFinish      = "\x1b[?7h"
)

func newPeekTerminal(p Provider, name string) *peekTerminal {
	return &peekTerminal{provider: p, name: name, closed: make(chan struct{})}
}

// Next implements Terminal.
func (t *peekTerminal) Next(ctx context.Context) (TerminalFrame, error) {
	if t.ended {
		return TerminalFrame{}, io.EOF
	}
	for {
		if err := t.pause(ctx); err != nil {
			return TerminalFrame{}, err
		}
		running := t.provider.IsRunning(t.name)
		began := time.Now()
		text, err := t.provider.Peek(t.name, plainRows)
		t.next = time.Now().Add(max(peekPause, peekShare*time.Since(began)))
		switch {
		case IsSessionGone(err):
			t.ended = true
			text = t.shown
		case err != nil:
			return TerminalFrame{}, err
		case !running && !t.provider.IsRunning(t.name):
			t.ended = true
		}
		if t.begun && !t.ended && text == t.shown {
			continue
		}
		t.begun, t.shown = true, text
		f := drawPlain(text)
		f.Ended = t.ended
		return f, nil
	}
}

// pause waits until the next Peek is due.
func (t *peekTerminal) pause(ctx context.Context) error {
	timer := time.NewTimer(time.Until(t.next))
	defer timer.Stop()
	select {
	case <-t.closed:
		return io.EOF
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	}
	return nil
}

// Write implements Terminal.
func (t *peekTerminal) Write(context.Context, []byte) error {
	return &Error{Op: "type into", Session: t.name, Err: ErrTerminalWatchOnly}
}

// Close implements Terminal.
func (t *peekTerminal) Close() error {
	t.close.Do(func() { close(t.closed) })
	return nil
}

// drawPlain returns the frame that shows the last lines of text.
func drawPlain(text string) TerminalFrame {
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-plainRows):]
	cols := minPlainCols
	var b strings.Builder
	b.WriteString(plainFrameStart)
	for y, line := range lines {
		width := 0
		b.WriteString("\x1b[" + strconv.Itoa(y+1) + ";1H")
		for _, r := range line {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				continue // text of a script may have control characters
			}
			b.WriteRune(r)
			if width++; r >= firstWideRune {
				width++
			}
		}
		cols = max(cols, width)
	}
	b.WriteString(plainFrameFinish)
	return TerminalFrame{Cols: min(cols, maxPlainCols), Rows: plainRows, Output: []byte(b.String()), Plain: true}
}
