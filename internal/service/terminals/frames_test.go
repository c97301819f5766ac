package terminals_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gascity/internal/service/terminals"
	"gascity/runtime"
)

// deadline is far beyond what any test needs.
const deadline = 20 * time.Second

// script is a session whose frames the test decides. It opens terminals and counts them.
type script struct {
	frames chan runtime.TerminalFrame // of the terminal that watches
	// opening is called before a terminal is opened; nil: it is not.
	opening func(opts runtime.TerminalOptions)

	watching, typing atomic.Int32 // terminals that are open
}

// open implements terminals.Options.Open.
func (s *script) open(_ context.Context, _ string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
	if s.opening != nil {
		s.opening(opts)
	}
	count := &s.watching
	if opts.Type {
		count = &s.typing
	}
	count.Add(1)
	return &scriptTerminal{script: s, closed: sync.OnceFunc(func() { count.Add(-1) })}, nil
}

// scriptTerminal is a terminal of a script.
type scriptTerminal struct {
	script *script
	closed func()
}

// Next implements runtime.Terminal.
func (s *scriptTerminal) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	select {
	case f := <-s.script.frames:
		return f, nil
	case <-ctx.Done():
		return runtime.TerminalFrame{}, context.Cause(ctx)
	}
}

// Write implements runtime.Terminal.
func (*scriptTerminal) Write(context.Context, []byte) error { return nil }

// Close implements runtime.Terminal.
func (s *scriptTerminal) Close() error {
	s.closed()
	return nil
}

// scripted returns the service of a script.
func scripted(t *testing.T, s *script) *terminals.Service {
	t.Helper()
	s.frames = make(chan runtime.TerminalFrame, 10)
	service := terminals.New(terminals.Options{Open: s.open})
	t.Cleanup(service.Close)
	return service
}

// draw makes the session show a text.
func (s *script) draw(cols, rows int, text string) {
	s.frames <- runtime.TerminalFrame{Cols: cols, Rows: rows, Output: []byte("\x1b[H\x1b[2J" + text)}
}

// await waits until a number is want.
func await(t *testing.T, what string, number *atomic.Int32, want int32) {
	t.Helper()
	for end := time.Now().Add(deadline); number.Load() != want; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d %s, want %d", number.Load(), what, want)
		}
	}
}

// TestViewersGetTheNewSize: a viewer draws a session that changes its size as one that opens afterwards.
func TestViewersGetTheNewSize(t *testing.T) {
	t.Parallel()
	s := &script{}
	service := scripted(t, s)
	v := open(t, service, "v")
	s.draw(20, 3, "twenty columns 67890")
	v.shows("twenty columns 67890")
	s.draw(30, 4, "thirty columns is more 4567890\r\n\r\n\r\nrow 4")
	v.shows("row 4")
	if cols, rows := v.screen.Size(); cols != 30 || rows != 4 {
		t.Errorf("the viewer has %d columns and %d rows, want 30 and 4", cols, rows)
	}
	late := open(t, service, "late")
	late.shows("row 4")
	if want := "thirty columns is more 4567890"; late.screen.Rows()[0] != want || v.text() != late.text() {
		t.Errorf("the viewers show\n%s\nand\n%s\nwant the row %q", v.text(), late.text(), want)
	}
	s.draw(10, 2, "small")
	v.until("the small size", func() bool { cols, rows := v.screen.Size(); return cols == 10 && rows == 2 })
}

// TestViewersLearnThatTheScreenIsPlain: a session that later has only text, as after a change of its runtime provider.
func TestViewersLearnThatTheScreenIsPlain(t *testing.T) {
	t.Parallel()
	s := &script{}
	service := scripted(t, s)
	v := open(t, service, "v")
	s.draw(20, 3, "colors")
	v.shows("colors")
	s.frames <- runtime.TerminalFrame{Cols: 20, Rows: 3, Output: []byte("\x1b[H\x1b[2Jtext"), Plain: true}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for {
		u, err := v.Next(ctx)
		if err != nil {
			t.Fatalf("the viewer never learned that the screen is plain: %v", err)
		}
		if u.Driver != nil && u.Plain {
			return
		}
	}
}

// TestRowsThatBecomeBlank: a viewer of rows gets a row that has become blank, as one without spans.
func TestRowsThatBecomeBlank(t *testing.T) {
	t.Parallel()
	s := &script{}
	v := open(t, scripted(t, s), "v")
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	s.draw(20, 3, "first\r\nsecond")
	if err := v.AwaitChange(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if u := v.ReadRows(); !u.All || len(u.Lines) != 2 {
		t.Fatalf("the first update is %+v", u)
	}
	s.draw(20, 3, "first")
	if err := v.AwaitChange(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if u := v.ReadRows(); u.All || len(u.Lines) != 1 || u.Lines[0].Y != 1 || len(u.Lines[0].Spans) != 0 {
		t.Errorf("after the second row became blank the update is %+v", u)
	}
}

// TestPauseOfAViewer: a viewer does not read again before its pause has passed, although the screen has changed.
func TestPauseOfAViewer(t *testing.T) {
	t.Parallel()
	const pause = 300 * time.Millisecond
	s := &script{}
	v := open(t, scripted(t, s), "v")
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	s.draw(20, 3, "first")
	if err := v.AwaitChange(ctx, pause); err != nil {
		t.Fatal(err)
	}
	read := time.Now()
	v.ReadRows()
	s.draw(20, 3, "second")
	if err := v.AwaitChange(ctx, pause); err != nil {
		t.Fatal(err)
	}
	if passed := time.Since(read); passed < pause {
		t.Errorf("the next reading is after %v, want at least %v", passed, pause)
	}
}

// TestLastOutputIsShown: a viewer that reads after the agent has exited gets its last output before the end.
func TestLastOutputIsShown(t *testing.T) {
	t.Parallel()
	s := &script{}
	service := scripted(t, s)
	reader, slow := open(t, service, "reader"), open(t, service, "slow")
	s.draw(20, 3, "hello")
	reader.shows("hello")
	slow.shows("hello")
	s.frames <- runtime.TerminalFrame{Cols: 20, Rows: 3, Output: []byte("\x1b[H\x1b[2Jpanic: it failed"), Ended: true}
	for _, p := range []*page{reader, slow} { // the slow one reads when all is over
		p.shows("panic: it failed")
		if _, err := p.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("Next after the last output = %v, want %v", err, io.EOF)
		}
	}
}

// TestTerminalsAreClosed: no terminal stays open after the last viewer, after the exit of the agent, and after a take-over that comes
// too late.
func TestTerminalsAreClosed(t *testing.T) {
	t.Parallel()
	s := &script{}
	service := scripted(t, s)
	first, second := open(t, service, "first"), open(t, service, "second")
	s.draw(20, 3, "hello")
	first.shows("hello")
	first.Close()
	if n := s.watching.Load(); n != 1 {
		t.Errorf("with one viewer %d terminals are open", n)
	}
	second.Close()
	await(t, "terminals are open without a viewer", &s.watching, 0)

	driver := open(t, service, "driver")
	s.draw(20, 3, "again")
	driver.shows("again")
	if err := driver.TakeOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.frames <- runtime.TerminalFrame{Cols: 20, Rows: 3, Output: []byte("bye"), Ended: true}
	driver.shows("bye")
	await(t, "terminals are open after the exit", &s.watching, 0)
	await(t, "terminals that type are open after the exit", &s.typing, 0)
	if err := driver.TakeOver(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("TakeOver after the exit = %v, want %v", err, io.EOF)
	}
	if n := s.typing.Load(); n != 0 {
		t.Errorf("after a take-over that came too late %d terminals that type are open", n)
	}
	if err := driver.Write(t.Context(), []byte("x")); !errors.Is(err, terminals.ErrNotDriver) {
		t.Errorf("Write after the exit = %v, want %v", err, terminals.ErrNotDriver)
	}
}

// TestOpenAtOnce: of the terminals that several callers open for a session at the same moment, one stays.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	const callers = 5
	var arrived atomic.Int32
	all := make(chan struct{})
	s := &script{opening: func(runtime.TerminalOptions) {
		if arrived.Add(1) == callers {
			close(all)
		}
		<-all
	}}
	service := scripted(t, s)
	viewers := make(chan *terminals.Viewer, callers)
	for range callers {
		go func() {
			v, err := service.Open(t.Context(), "a", "v")
			if err != nil {
				t.Error(err)
			}
			viewers <- v
		}()
	}
	var opened []*terminals.Viewer
	for range callers {
		opened = append(opened, <-viewers)
	}
	if slices.Contains(opened, nil) {
		t.Fatal("a caller got no viewer")
	}
	if n := s.watching.Load(); n != 1 {
		t.Errorf("%d terminals are open, want 1", n)
	}
	s.draw(20, 3, "for all")
	for _, v := range opened {
		for text := ""; !strings.Contains(text, "for all"); {
			u, err := v.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text += string(u.Output)
		}
		v.Close()
	}
	await(t, "terminals are open without a viewer", &s.watching, 0)
}

// TestOpenDuringClose: a viewer whose terminal opens while the service closes is refused, and its terminal is closed.
func TestOpenDuringClose(t *testing.T) {
	t.Parallel()
	opening, proceed := make(chan struct{}), make(chan struct{})
	s := &script{opening: func(runtime.TerminalOptions) {
		close(opening)
		<-proceed
	}}
	service := scripted(t, s)
	opened := make(chan error, 1)
	go func() {
		_, err := service.Open(t.Context(), "a", "v")
		opened <- err
	}()
	<-opening
	service.Close()
	close(proceed)
	if err := <-opened; !errors.Is(err, terminals.ErrClosed) {
		t.Errorf("Open during Close = %v, want %v", err, terminals.ErrClosed)
	}
	if n := s.watching.Load(); n != 0 {
		t.Errorf("%d terminals are open after Close", n)
	}
}
