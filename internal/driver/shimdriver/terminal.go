package shimdriver

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/shim"
	screenreader "gascity/internal/terminal/screen"
)

// terminal implements [screenreader.Terminal] for a shim's terminal.
type terminal struct{ client *shim.Client }

var (
	_ screenreader.Terminal = terminal{}
	_ screenreader.Holder   = terminal{}
)

// Frame implements screenreader.Terminal. If the shim or the agent has exited, it returns a frame with Exited set.
func (t terminal) Frame(ctx context.Context, after uint64) (screenreader.Frame, error) {
	f, err := t.client.Frame(ctx, after)
	if errors.Is(err, shim.ErrNoShim) || errors.Is(err, shim.ErrExited) {
		return screenreader.Frame{Seq: after + 1, Exited: true}, nil
	}
	if err != nil {
		return screenreader.Frame{}, err
	}
	return f.Screen(), nil
}

// Hold delays what people type in attached terminals.
func (t terminal) Hold(ctx context.Context) (release func(), err error) {
	release, err = t.client.Hold(ctx)
	if errors.Is(err, shim.ErrNoShim) || errors.Is(err, shim.ErrExited) {
		return nil, screenreader.ErrExited
	}
	return release, err
}

// outputOnly presents the output of an agent without a terminal as a screen. Its content can be awaited, but nothing can be
// typed into it.
type outputOnly struct{ terminal }

func (outputOnly) Send(context.Context, []byte) error {
	return fmt.Errorf("no keys without a terminal: %w", errors.ErrUnsupported)
}

// Send writes bytes to the session's terminal. If the shim or the agent has exited, the error is
// screenreader.ErrExited.
func (t terminal) Send(ctx context.Context, p []byte) error {
	err := t.client.Send(ctx, p)
	if errors.Is(err, shim.ErrNoShim) || errors.Is(err, shim.ErrExited) {
		return screenreader.ErrExited
	}
	return err
}
