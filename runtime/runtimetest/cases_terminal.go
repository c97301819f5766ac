package runtimetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"gascity/runtime"
)

// terminalCases returns the cases about OpenTerminal.
func terminalCases() []Case {
	return []Case{
		prove("terminal.first", "The first frame of a terminal has the size of the session's grid and draws the whole screen, also for a terminal that is opened later.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Say: []string{"hello from the start"}})
			s.AwaitOutput("hello from the start")
			for range 2 {
				v := s.watch(runtime.TerminalOptions{})
				f := v.next()
				if f.Cols < 2 || f.Rows < 2 || f.Ended || f.Plain || !shows(f, "hello from the start") {
					t.Errorf("the first frame is %dx%d, ended: %v, plain: %v, and draws %q; want the whole screen", f.Cols, f.Rows, f.Ended, f.Plain, f.Output)
				}
				v.close()
			}
		}).needs(NeedWatching),
		prove("terminal.changes", "Next returns what has changed since the last call, and blocks while nothing changes.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			v := s.watch(runtime.TerminalOptions{})
			v.next()
			s.Nudge("the marker 4711")
			v.until("the marker 4711")
			if f, ok := v.settle(); !ok {
				t.Errorf("Next returns frames of a screen that does not change, such as %q", f.Output)
			}
		}).needs(NeedWatching),
		prove("terminal.type", "Write sends what a person types to the agent, as input of a person, and the terminal counts as attached until it is closed.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			v := s.watch(runtime.TerminalOptions{Type: true})
			w.Until("the terminal counts as attached", func() bool { return w.Provider.IsAttached(s.Name) })
			before := time.Now().Add(-2 * time.Second) // the clock of a driver may have a resolution of one second
			for _, piece := range []string{"typed by ", "a person"} {
				expect(t, nil, v.Write(w.ctx, []byte(piece)), "Write")
			}
			v.until("typed by a person")
			expect(t, nil, v.Write(w.ctx, []byte("\r")), "Write")
			s.AwaitPrompt("typed by a person")
			if obs := s.Observe(); obs.LastInput.Before(before) {
				t.Errorf("after a person typed, the last input was at %v", obs.LastInput)
			}
			v.close()
			w.Until("the closed terminal does not count as attached", func() bool { return !w.Provider.IsAttached(s.Name) })
		}).needs(NeedTyping, NeedObserve, NeedAttachment),
		prove("terminal.watch", "A terminal that was opened to watch does not count as attached. Its Write returns ErrTerminalWatchOnly and sends nothing.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			v := s.watch(runtime.TerminalOptions{})
			expect(t, runtime.ErrTerminalWatchOnly, v.Write(w.ctx, []byte("typed")), "Write")
			v.next()
			if w.Provider.IsAttached(s.Name) {
				t.Errorf("a terminal that watches counts as attached")
			}
			s.Nudge("alone")
			s.consumed("alone")
		}).needs(NeedWatching),
		prove("terminal.size", "A terminal never changes the size of the session: not when it is opened, nor when it types, nor when it is closed.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			first := s.watch(runtime.TerminalOptions{})
			want := first.next()
			second := s.watch(runtime.TerminalOptions{Type: true})
			second.next()
			expect(t, nil, second.Write(w.ctx, []byte("x")), "Write")
			second.until("x")
			second.close()
			third := s.watch(runtime.TerminalOptions{})
			for _, got := range []runtime.TerminalFrame{third.next(), first.next()} {
				if got.Cols != want.Cols || got.Rows != want.Rows {
					t.Errorf("typing by another terminal changed the size of the session: it is %dx%d and was %dx%d", got.Cols, got.Rows, want.Cols, want.Rows)
				}
			}
		}).needs(NeedTyping),
		prove("terminal.end", "When the agent exits, the next frame has Ended and the last output, and then Next returns io.EOF.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			v := s.watch(runtime.TerminalOptions{})
			v.next()
			s.Stop()
			ended := false
			w.Until("the terminal ends", func() bool {
				f := v.next()
				ended = f.Ended
				return ended
			})
			ctx, cancel := context.WithTimeout(w.ctx, w.patience)
			defer cancel()
			if _, err := v.Next(ctx); ended && !errors.Is(err, io.EOF) {
				t.Errorf("Next after the end = %v, want %v", err, io.EOF)
			}
		}).needs(NeedWatching),
		prove("terminal.missing", "OpenTerminal of a missing session, or of one whose agent has exited, returns ErrSessionNotFound.", func(t T, w *World) {
			s := w.Start("worker-10", Behaviour{})
			_, err := runtime.OpenTerminal(w.ctx, w.Provider, w.Name("worker-1"), runtime.TerminalOptions{})
			expect(t, runtime.ErrSessionNotFound, err, "OpenTerminal of a missing session")
			s.Stop()
			_, err = runtime.OpenTerminal(w.ctx, w.Provider, s.Name, runtime.TerminalOptions{})
			expect(t, runtime.ErrSessionNotFound, err, "OpenTerminal after Stop")
		}).needs(NeedWatching),
		prove("terminal.close", "A call of Next that waits returns when Close is called or when its context ends. After the end of a context the next call returns the changes. The session continues in both cases.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			v := s.watch(runtime.TerminalOptions{})
			v.next()
			v.settle() // each call ends with its context
			s.Nudge("the marker 4711")
			v.until("the marker 4711")
			v.settle()
			ended := make(chan error, 1)
			go func() {
				_, err := v.Next(w.ctx)
				ended <- err
			}()
			v.close()
			if err := awaitResult(w, "Next after Close", ended); err == nil {
				t.Errorf("Next after Close = nil, want an error")
			}
			s.Nudge("still here")
			s.AwaitPrompt("still here")
		}).needs(NeedWatching),
	}
}

// shows reports whether the output of the frame has the text, with nothing in between.
func shows(f runtime.TerminalFrame, text string) bool { return bytes.Contains(f.Output, []byte(text)) }

// view is an open terminal of a case.
type view struct {
	runtime.Terminal
	s *Session
}

// watch opens a terminal. An error fails the case. A view that is not closed ends with its session.
func (s *Session) watch(opts runtime.TerminalOptions) view {
	s.w.t.Helper()
	terminal, err := runtime.OpenTerminal(s.w.ctx, s.w.Provider, s.Name, opts)
	if err != nil {
		s.w.t.Fatalf("OpenTerminal(%s) = %v, want nil", s.Name, err)
	}
	return view{terminal, s}
}

// next returns the next frame. An error, or no frame within the patience, fails the case.
func (v view) next() runtime.TerminalFrame {
	v.s.w.t.Helper()
	ctx, cancel := context.WithTimeout(v.s.w.ctx, v.s.w.patience)
	defer cancel()
	f, err := v.Next(ctx)
	if err != nil {
		v.s.w.t.Fatalf("Next of %s = %v, want a frame", v.s.Name, err)
	}
	return f
}

// until reads frames until one has the text, perhaps in pieces: a frame may draw only a part of a row.
func (v view) until(text string) {
	v.s.w.t.Helper()
	var drawn strings.Builder
	v.s.w.Until("a frame shows "+text, func() bool {
		drawn.Write(v.next().Output)
		return strings.Contains(drawn.String(), text)
	})
}

// calm is how long a screen does not change until it counts as unchanged.
const calm = 300 * time.Millisecond

// settle reads frames until the screen does not change any more. If the screen keeps changing, it returns the
// last frame.
func (v view) settle() (last runtime.TerminalFrame, ok bool) {
	v.s.w.t.Helper()
	ok = v.s.w.within(v.s.w.patience, func() bool {
		ctx, cancel := context.WithTimeout(v.s.w.ctx, calm)
		defer cancel()
		f, err := v.Next(ctx)
		if err == nil {
			last = f
			return false
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			v.s.w.t.Fatalf("Next of %s = %v, want the end of its context", v.s.Name, err)
		}
		return true
	})
	return last, ok
}

// close closes the terminal. An error fails the case.
func (v view) close() {
	v.s.w.t.Helper()
	expect(v.s.w.t, nil, v.Close(), "Close")
}
