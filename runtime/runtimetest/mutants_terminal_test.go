package runtimetest_test

import (
	"context"
	"errors"
	"io"

	"gascity/runtime"
)

func (m *modifiedFake) OpenTerminal(ctx context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
	if m.openTerminal != nil {
		return m.openTerminal(ctx, name, opts)
	}
	return m.Provider.OpenTerminal(ctx, name, opts)
}

// mutantTerminal changes the results of a terminal.
type mutantTerminal struct {
	runtime.Terminal
	name  string
	next  func(ctx context.Context) (runtime.TerminalFrame, error)
	write func(ctx context.Context, p []byte) error

	closing func() error
}

func (t *mutantTerminal) Close() error {
	if t.closing != nil {
		return errors.Join(t.closing(), t.Terminal.Close())
	}
	return t.Terminal.Close()
}

func (t *mutantTerminal) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	if t.next != nil {
		return t.next(ctx)
	}
	return t.Terminal.Next(ctx)
}

func (t *mutantTerminal) Write(ctx context.Context, p []byte) error {
	if t.write != nil {
		return t.write(ctx, p)
	}
	return t.Terminal.Write(ctx, p)
}

// withTerminal returns a mutant whose terminals are changed by edit.
func withTerminal(edit func(m *modifiedFake, t *mutantTerminal, opts runtime.TerminalOptions)) func(m *modifiedFake) {
	return func(m *modifiedFake) {
		m.openTerminal = func(ctx context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
			inner, err := m.Provider.OpenTerminal(ctx, name, opts)
			if err != nil {
				return nil, err
			}
			t := &mutantTerminal{Terminal: inner, name: name}
			edit(m, t, opts)
			return t, nil
		}
	}
}

// terminalMutants break the sentences about OpenTerminal.
func terminalMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"terminal.first": withTerminal(func(_ *modifiedFake, t *mutantTerminal, _ runtime.TerminalOptions) {
			t.next = func(ctx context.Context) (runtime.TerminalFrame, error) { // the first frame draws nothing
				f, err := t.Terminal.Next(ctx)
				f.Output = nil
				t.next = nil
				return f, err
			}
		}),
		"terminal.changes": withTerminal(func(_ *modifiedFake, t *mutantTerminal, _ runtime.TerminalOptions) {
			var last runtime.TerminalFrame
			t.next = func(ctx context.Context) (runtime.TerminalFrame, error) { // it returns the same frame again and again
				f, err := t.Terminal.Next(ctx)
				if ctx.Err() == nil {
					last = f
					return f, err
				}
				return last, nil
			}
		}),
		"terminal.type": withTerminal(func(m *modifiedFake, t *mutantTerminal, _ runtime.TerminalOptions) {
			t.write = func(_ context.Context, p []byte) error { // it is not input of a person
				for _, b := range p {
					key := string(b)
					if b == '\r' {
						key = "Enter"
					}
					if err := m.Provider.SendKeys(t.name, key); err != nil {
						return err
					}
				}
				return nil
			}
		}),
		"terminal.watch": func(m *modifiedFake) {
			m.openTerminal = func(ctx context.Context, name string, _ runtime.TerminalOptions) (runtime.Terminal, error) {
				return m.Provider.OpenTerminal(ctx, name, runtime.TerminalOptions{Type: true})
			}
		},
		"terminal.size": withTerminal(func(m *modifiedFake, t *mutantTerminal, opts runtime.TerminalOptions) {
			if opts.Type {
				m.mu.Lock()
				m.count++
				m.mu.Unlock()
			}
			t.next = func(ctx context.Context) (runtime.TerminalFrame, error) {
				f, err := t.Terminal.Next(ctx)
				m.mu.Lock()
				defer m.mu.Unlock()
				f.Cols -= m.count
				return f, err
			}
		}),
		"terminal.end": withTerminal(func(_ *modifiedFake, t *mutantTerminal, _ runtime.TerminalOptions) {
			t.next = func(ctx context.Context) (runtime.TerminalFrame, error) {
				f, err := t.Terminal.Next(ctx)
				if errors.Is(err, io.EOF) { // it has ended, and does not say so
					<-ctx.Done()
					return f, context.Cause(ctx)
				}
				return f, err
			}
		}),
		"terminal.missing": func(m *modifiedFake) {
			m.openTerminal = func(ctx context.Context, name string, opts runtime.TerminalOptions) (runtime.Terminal, error) {
				return m.Provider.OpenTerminal(ctx, m.firstWithPrefix(name), opts)
			}
		},
		"terminal.close": withTerminal(func(m *modifiedFake, t *mutantTerminal, _ runtime.TerminalOptions) {
			t.closing = func() error { // the session ends with its terminal
				return m.Provider.Stop(t.name)
			}
		}),
	}
}
