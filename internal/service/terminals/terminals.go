// Package terminals shows sessions to any number of viewers: pages, phones and dashboards. It opens one terminal for a session,
// feeds a screen model with its frames, and draws each change once for all viewers. One viewer of a session at a time, the
// driver, may type.
package terminals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// Options are the options of a [Service]. Open is required.
type Options struct {
	// Open opens a terminal of a session, see runtime.OpenTerminal.
	Open func(ctx context.Context, session string, opts runtime.TerminalOptions) (runtime.Terminal, error)
	// Mask returns a text without secrets; nil changes nothing.
	Mask func(text string) string
	// Logger gets failures that no caller gets; nil discards them.
	Logger *slog.Logger
}

// Service opens viewers. It is safe for concurrent use.
type Service struct {
	opts   Options
	ctx    context.Context //nolint:containedctx // ends with Close
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu    sync.Mutex // guards shows and the counts of viewers in them
	shows map[string]*show
}

var (
	// ErrClosed is the error of viewers after [Service.Close].
	ErrClosed = errors.New("the controller is stopping")
	// ErrNotDriver reports that another viewer types now, or none.
	ErrNotDriver = errors.New("this viewer is not the driver: take over first")
)

// New returns a service without viewers. It starts nothing. The caller must call Close.
func New(opts Options) *Service {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancelCause(context.Background()) //nolint:forbidigo // Close cancels it
	return &Service{opts: opts, ctx: ctx, cancel: cancel, shows: map[string]*show{}}
}

// Close ends all viewers and waits until no terminal is read.
func (s *Service) Close() {
	s.cancel(ErrClosed)
	s.work.Wait()
}

// show is a session with viewers.
type show struct {
	service *Service
	session string
	cancel  context.CancelFunc // ends the goroutine that reads the terminal
	asked   chan struct{}      // holds a token when a viewer waits for a change
	viewers int                // guarded by the service's mu

	mu      sync.RWMutex // guards all below
	screen  *vt.Screen
	drawing vt.Drawing
	plain   bool
	err     error         // why there are no more frames; io.EOF: the agent has exited
	changed chan struct{} // closed and replaced at each change
	driver  *Viewer       // nil if no viewer types
	drives  uint64        // number of changes of the driver

	typing sync.Mutex // guards typist; locked before mu
	typist runtime.Terminal
}

// Open opens a viewer of a session. name is the name of its person or device, for other viewers. ctx bounds only the call.
func (s *Service) Open(ctx context.Context, session, name string) (*Viewer, error) {
	for {
		s.mu.Lock()
		if s.ctx.Err() != nil {
			s.mu.Unlock()
			return nil, ErrClosed
		}
		sh := s.shows[session]
		if sh != nil {
			sh.viewers++
			s.mu.Unlock()
			return newViewer(sh, name), nil
		}
		s.mu.Unlock()
		terminal, err := s.opts.Open(ctx, session, runtime.TerminalOptions{})
		if err != nil {
			return nil, err
		}
		sh = &show{service: s, session: session, asked: make(chan struct{}, 1), changed: make(chan struct{})}
		if s.add(sh, terminal) {
			return newViewer(sh, name), nil
		}
		if err := terminal.Close(); err != nil { // another caller has opened the session meanwhile
			return nil, err
		}
	}
}

// add registers a session with one viewer and starts to read its terminal. It returns false if the session is registered already
// or the service is closed.
func (s *Service) add(sh *show, terminal runtime.Terminal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shows[sh.session] != nil || s.ctx.Err() != nil {
		return false
	}
	s.shows[sh.session] = sh
	sh.viewers = 1
	ctx, cancel := context.WithCancel(s.ctx)
	sh.cancel = cancel
	s.work.Go(func() {
		defer cancel()
		sh.read(ctx, terminal)
	})
	return true
}

// release removes one viewer of the session. With the last one, the session's terminal is not read any more.
func (s *Service) release(sh *show) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.viewers--; sh.viewers > 0 {
		return
	}
	sh.cancel()
	if s.shows[sh.session] == sh {
		delete(s.shows, sh.session)
	}
}

// forget removes a session whose terminal has no more frames, so that the next viewer opens a new terminal.
func (s *Service) forget(sh *show) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shows[sh.session] == sh {
		delete(s.shows, sh.session)
	}
}

// read reads frames while a viewer waits for one, until ctx ends or the session has no more.
func (sh *show) read(ctx context.Context, terminal runtime.Terminal) {
	for {
		select {
		case <-sh.asked:
		case <-ctx.Done():
			sh.finish(terminal, context.Cause(sh.service.ctx))
			return
		}
		f, err := terminal.Next(ctx)
		if err != nil {
			if sh.service.ctx.Err() != nil {
				err = context.Cause(sh.service.ctx)
			}
			sh.finish(terminal, err)
			return
		}
		if sh.apply(f); f.Ended {
			sh.finish(terminal, io.EOF)
			return
		}
	}
}

// apply updates the screen of the session with a frame and wakes the viewers.
func (sh *show) apply(f runtime.TerminalFrame) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	cols, rows := max(f.Cols, 1), max(f.Rows, 1)
	if sh.screen == nil {
		sh.screen = vt.New(cols, rows, &vt.Options{Scrollback: -1})
	}
	sh.screen.Resize(cols, rows)
	sh.screen.Write(f.Output)
	sh.plain = f.Plain
	sh.drawing.Update(sh.screen, sh.service.opts.Mask)
	sh.bumpLocked()
}

// finish ends all viewers with err and closes the terminals.
func (sh *show) finish(terminal runtime.Terminal, err error) {
	sh.service.forget(sh)
	sh.mu.Lock()
	sh.err, sh.driver = err, nil
	sh.bumpLocked()
	sh.mu.Unlock()
	sh.releaseTypist()
	if err := terminal.Close(); err != nil {
		sh.service.opts.Logger.Debug("cannot close a terminal", "session", sh.session, "error", err)
	}
}

// closeTypistLocked closes the terminal through which the driver types, if it is open. The caller holds typing.
func (sh *show) closeTypistLocked() {
	if sh.typist == nil {
		return
	}
	if err := sh.typist.Close(); err != nil {
		sh.service.opts.Logger.Debug("cannot close a terminal", "session", sh.session, "error", err)
	}
	sh.typist = nil
}

// bumpLocked wakes every goroutine that waits for a change of the session. The caller holds mu.
func (sh *show) bumpLocked() {
	close(sh.changed)
	sh.changed = make(chan struct{})
}

// ask makes the goroutine of the terminal read the next frame.
func (sh *show) ask() {
	select {
	case sh.asked <- struct{}{}:
	default:
	}
}

// frameGap is the shortest time between two readings of a viewer that does not type. It grows with the number of viewers, so that
// many of them do not delay the driver.
const frameGap = 8 * time.Millisecond

// Viewer is one view of a session. Its methods that wait for changes and read them are for one goroutine at a time; the other
// methods may be called concurrently with them. Its memory does not depend on what the session prints.
type Viewer struct {
	show   *show
	name   string
	closed chan struct{}
	once   sync.Once

	// Used only by the goroutine that reads.
	shown  uint64 // the version of the drawing that the viewer shows
	drives uint64 // the number of changes of the driver that the viewer knows
	begun  bool
	plain  bool
	last   time.Time // of the last reading
	buf    []byte
}

// newViewer returns a viewer of the session for the person or device with this name.
func newViewer(sh *show, name string) *Viewer {
	return &Viewer{show: sh, name: name, closed: make(chan struct{})}
}

// Update is what a viewer does not show yet.
type Update struct {
	Cols, Rows int // size of the grid; zero before the first frame of the session
	// All means that the update draws everything, whatever the viewer shows: the first one, and each one after a change of the
	// size. Rows that are not in Lines are empty then.
	All bool
	// Output is for the viewer's terminal emulator; only of Next and ReadOutput. It is valid until the next call.
	Output []byte
	// Lines are the rows that have changed, as styled text; only of ReadRows.
	Lines []Row
	// Driver is set in the first update of Next, and after each change of the driver or of Plain.
	Driver *Driver
	// Plain is true if the runtime provider shows only text, from time to time.
	Plain bool
}

// Row is one row of a screen; the first one has the number zero.
type Row struct {
	Y     int
	Spans []vt.Span
}

// Driver is the viewer that types.
type Driver struct {
	Name string // empty: no viewer types
	You  bool
}

// Next waits until the viewer does not show the present state and returns what is new. It returns io.EOF after the agent has
// exited and the last output was returned, and after Close. The caller does not call Next while its own reader cannot take
// more: the next update then has all changes since.
func (v *Viewer) Next(ctx context.Context) (Update, error) {
	if err := v.await(ctx, 0, func() bool { return v.isBehindLocked() || v.isDrivenLocked() }); err != nil {
		return Update{}, err
	}
	sh := v.show
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	u := v.readOutputLocked()
	if v.isDrivenLocked() {
		v.begun, v.drives, v.plain = true, sh.drives, sh.plain
		u.Driver = &Driver{}
		if sh.driver != nil {
			*u.Driver = Driver{Name: sh.driver.name, You: sh.driver == v}
		}
	}
	return u, nil
}

// AwaitChange waits until the viewer has not read the present screen, and at least pause since it last read. It returns the errors
// of Next. Then the caller reads by ReadOutput or ReadRows, when its own reader can take the update.
func (v *Viewer) AwaitChange(ctx context.Context, pause time.Duration) error {
	return v.await(ctx, pause, v.isBehindLocked)
}

// ReadOutput returns what has changed since the viewer last read, as output for a terminal emulator. It does not wait.
func (v *Viewer) ReadOutput() Update {
	v.show.mu.RLock()
	defer v.show.mu.RUnlock()
	return v.readOutputLocked()
}

// ReadRows returns the rows that have changed since the viewer last read. It does not wait.
func (v *Viewer) ReadRows() Update {
	sh := v.show
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	u := v.updateLocked()
	for y := range u.Rows {
		if !sh.drawing.Changed(y, v.shown) {
			continue
		}
		if spans := sh.drawing.Spans(sh.screen, y); len(spans) > 0 || !u.All {
			u.Lines = append(u.Lines, Row{Y: y, Spans: spans})
		}
	}
	v.shown = sh.drawing.Version()
	return u
}

func (v *Viewer) readOutputLocked() Update {
	u := v.updateLocked()
	v.buf = v.show.drawing.Frame(v.buf[:0], v.shown)
	u.Output, v.shown = v.buf, v.show.drawing.Version()
	return u
}

// updateLocked returns an update without content.
func (v *Viewer) updateLocked() Update {
	d := &v.show.drawing
	v.last = time.Now()
	u := Update{Plain: v.show.plain}
	u.Cols, u.Rows = d.Size()
	u.All = v.isBehindLocked() && (v.shown == 0 || d.Resized(v.shown))
	return u
}

// isBehindLocked reports whether the viewer has not read the present screen.
func (v *Viewer) isBehindLocked() bool { return v.show.drawing.Version() != v.shown }

// isDrivenLocked reports whether the driver, or Plain, is another than in the last update of Next.
func (v *Viewer) isDrivenLocked() bool {
	return !v.begun || v.drives != v.show.drives || v.plain != v.show.plain
}

// await waits until pause, and the pace of the viewer, have passed since the last reading, and isNew, which is called with mu
// held, returns true.
func (v *Viewer) await(ctx context.Context, pause time.Duration, isNew func() bool) error {
	sh := v.show
	gap := time.NewTimer(time.Until(v.last.Add(max(pause, v.pace()))))
	defer gap.Stop()
	if err := v.wait(ctx, gap.C, nil); err != nil {
		return err
	}
	for {
		sh.mu.RLock()
		fresh, changed, err := isNew(), sh.changed, sh.err
		sh.mu.RUnlock()
		switch {
		case fresh:
			return nil
		case err != nil:
			return err
		}
		sh.ask()
		if err := v.wait(ctx, nil, changed); err != nil {
			return err
		}
	}
}

// pace returns the shortest time between two readings.
func (v *Viewer) pace() time.Duration {
	if v.drivesNow() {
		return 0
	}
	s := v.show.service
	s.mu.Lock()
	defer s.mu.Unlock()
	return frameGap * time.Duration(1+v.show.viewers/8)
}

// wait waits until one of the two channels is ready. It returns an error if the viewer is closed or ctx ends.
func (v *Viewer) wait(ctx context.Context, tick <-chan time.Time, changed <-chan struct{}) error {
	select {
	case <-tick:
	case <-changed:
	case <-v.closed:
	case <-ctx.Done():
	}
	select {
	case <-v.closed:
		return io.EOF
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// drivesNow reports whether the viewer is the driver.
func (v *Viewer) drivesNow() bool {
	v.show.mu.RLock()
	defer v.show.mu.RUnlock()
	return v.show.driver == v
}

// TakeOver makes the viewer the driver, the only viewer that can type into the terminal. It returns an error that matches
// errors.ErrUnsupported if the runtime provider cannot type.
func (v *Viewer) TakeOver(ctx context.Context) error {
	sh := v.show
	sh.typing.Lock()
	defer sh.typing.Unlock()
	if sh.typist == nil {
		typist, err := sh.service.opts.Open(ctx, sh.session, runtime.TerminalOptions{Type: true})
		if err != nil {
			return fmt.Errorf("cannot open the terminal of %s for typing: %w", sh.session, err)
		}
		sh.typist = typist
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.err != nil {
		err := sh.typist.Close()
		sh.typist = nil
		return errors.Join(sh.err, err)
	}
	select {
	case <-v.closed:
		if sh.driver == nil {
			sh.closeTypistLocked()
		}
		return io.EOF
	default:
	}
	if sh.driver != v {
		sh.driver = v
		sh.drives++
		sh.bumpLocked()
	}
	return nil
}

// Release ends what [Viewer.TakeOver] began: the viewer can only watch. It does nothing if the viewer is not the driver.
func (v *Viewer) Release() {
	sh := v.show
	sh.mu.Lock()
	was := sh.driver == v
	if was {
		sh.driver = nil
		sh.drives++
		sh.bumpLocked()
	}
	sh.mu.Unlock()
	if was {
		sh.releaseTypist()
	}
}

// releaseTypist closes the terminal through which the driver typed, unless there is a new driver.
func (sh *show) releaseTypist() {
	sh.typing.Lock()
	defer sh.typing.Unlock()
	sh.mu.RLock()
	idle := sh.driver == nil
	sh.mu.RUnlock()
	if idle {
		sh.closeTypistLocked()
	}
}

// Write types p if the viewer is the driver; otherwise it returns [ErrNotDriver]. It waits for a delivery of a prompt, see
// runtime.Terminal.
func (v *Viewer) Write(ctx context.Context, p []byte) error {
	sh := v.show
	sh.typing.Lock()
	typist := sh.typist
	sh.typing.Unlock()
	if typist == nil || !v.drivesNow() {
		return ErrNotDriver
	}
	sh.ask() // the screen must soon show what was typed
	return typist.Write(ctx, p)
}

// Close ends the view and unblocks Next.
func (v *Viewer) Close() {
	v.once.Do(func() {
		close(v.closed)
		v.Release()
		v.show.service.release(v.show)
	})
}
