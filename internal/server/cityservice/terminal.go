package cityservice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/server/controlapi"
	"gascity/internal/service/terminals"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

var (
	_ controlapi.Screener       = Service{}
	_ controlapi.ScreenWatcher  = Service{}
	_ controlapi.StatusNotifier = Service{}
)

// Screen returns what a session's terminal shows, as output for a terminal emulator. It implements controlapi.Screener.
func (f Service) Screen(ctx context.Context, target string) (client.Screen, error) {
	v, err := f.Snapshot(target)
	if err != nil {
		return client.Screen{}, err
	}
	viewer, err := f.opts.Terminals.Open(ctx, v.Session, "")
	if err != nil {
		return client.Screen{}, err
	}
	defer viewer.Close()
	for {
		u, err := viewer.Next(ctx)
		if err != nil {
			return client.Screen{}, unreadable(target, err)
		}
		if u.Cols > 0 {
			return client.Screen{Session: v.Session, Cols: u.Cols, Rows: u.Rows, Output: string(u.Output), Plain: u.Plain}, nil
		}
	}
}

// ScreenLines returns what a session's terminal shows, as styled lines. It implements controlapi.Screener.
func (f Service) ScreenLines(ctx context.Context, target string) (client.Screen, error) {
	v, err := f.Snapshot(target)
	if err != nil {
		return client.Screen{}, err
	}
	viewer, err := f.opts.Terminals.Open(ctx, v.Session, "")
	if err != nil {
		return client.Screen{}, err
	}
	defer viewer.Close()
	if err := viewer.AwaitChange(ctx, 0); err != nil {
		return client.Screen{}, unreadable(target, err)
	}
	shown := viewer.ReadRows()
	return client.Screen{Session: v.Session, Cols: shown.Cols, Rows: shown.Rows, Plain: shown.Plain, Lines: linesOf(shown.Changed)}, nil
}

// WatchScreen calls show with what a session's terminal shows and then with each change. It implements controlapi.ScreenWatcher.
func (f Service) WatchScreen(ctx context.Context, target string, show func(client.Screen) error) error {
	v, err := f.Snapshot(target)
	if err != nil {
		return err
	}
	viewer, err := f.opts.Terminals.Open(ctx, v.Session, "")
	if err != nil {
		return err
	}
	defer viewer.Close()
	for {
		u, err := viewer.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: cannot read the screen of %s: %w", client.ErrUnavailable, target, err)
		case len(u.Output) == 0:
			continue // only the viewer that types has changed
		}
		if err := show(client.Screen{Session: v.Session, Cols: u.Cols, Rows: u.Rows, Output: string(u.Output), Plain: u.Plain}); err != nil {
			return err
		}
	}
}

// unreadable returns the error for a screen that cannot be read because of err.
func unreadable(target string, err error) error {
	return fmt.Errorf("%w: cannot read the screen of %s: %w", client.ErrUnavailable, target, err)
}

// screenPause is the shortest time between two updates of a screen in a stream.
const screenPause = 350 * time.Millisecond

// Screens calls send with the screen of each target and then with its changes, until ctx ends or send fails. It implements
// controlapi.Screener.
func (f Service) Screens(ctx context.Context, targets []string, send func(client.ScreenUpdate) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var turn sync.Mutex // of send: rows are read only when they can be sent, so nothing is queued
	var work sync.WaitGroup
	for _, target := range slices.Compact(slices.Sorted(slices.Values(targets))) {
		work.Go(func() {
			err := f.follow(ctx, target, func(read func() client.ScreenUpdate) error {
				turn.Lock()
				defer turn.Unlock()
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return send(read())
			})
			if err != nil {
				cancel(err)
			}
		})
	}
	work.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// follow sends the screen of one target and then its changes, until the target has no screen any more. It returns only errors of
// send.
func (f Service) follow(ctx context.Context, target string, send func(read func() client.ScreenUpdate) error) error {
	end := func(err error) error {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the reader has ended
		}
		return send(func() client.ScreenUpdate { return client.ScreenUpdate{Target: target, Ended: whyNoScreen(err)} })
	}
	v, err := f.Snapshot(target)
	if err != nil {
		return end(err)
	}
	viewer, err := f.opts.Terminals.Open(ctx, v.Session, "")
	if err != nil {
		return end(err)
	}
	defer viewer.Close()
	for {
		if err := viewer.AwaitChange(ctx, screenPause); err != nil {
			return end(err)
		}
		if err := send(func() client.ScreenUpdate {
			shown := viewer.ReadRows()
			return client.ScreenUpdate{Target: target, Cols: shown.Cols, Rows: shown.Rows, All: shown.All, Plain: shown.Plain, Lines: linesOf(shown.Changed)}
		}); err != nil {
			return err
		}
	}
}

// whyNoScreen returns for people why a target has no screen.
func whyNoScreen(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "the agent has exited"
	case errors.Is(err, runtime.ErrSessionNotFound), errors.Is(err, client.ErrRefused):
		return "the agent is not running"
	case errors.Is(err, errors.ErrUnsupported):
		return "the runtime provider shows no screen"
	}
	return client.ProblemOf(err).Detail
}

// linesOf converts the rows of a screen to the form of the control API.
func linesOf(rows []terminals.Row) []client.ScreenLine {
	var lines []client.ScreenLine
	for _, row := range rows {
		line := client.ScreenLine{Y: row.Y, Spans: make([]client.ScreenSpan, len(row.Spans))}
		for i, s := range row.Spans {
			line.Spans[i] = client.ScreenSpan{
				Text: s.Text, Cols: s.Cols, Foreground: colorOf(s.Style.FG), Background: colorOf(s.Style.BG),
				Bold: s.Style.Has(vt.Bold), Dim: s.Style.Has(vt.Dim), Italic: s.Style.Has(vt.Italic), Reverse: s.Style.Has(vt.Reverse),
				Strike: s.Style.Has(vt.Strikethrough), Underline: s.Style.Underline != vt.UnderlineNone,
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// colorOf returns a color in the form of client.ScreenSpan: the number of a palette color or #rrggbb; empty for the default
// color.
func colorOf(c vt.Color) string {
	if i, ok := c.Index(); ok {
		return strconv.Itoa(int(i))
	}
	if rgb, ok := c.RGB(); ok {
		return fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2])
	}
	return ""
}

// OpenViewer opens a live view of a target's session for the person or device of the given name.
func (f Service) OpenViewer(ctx context.Context, target, name string) (*terminals.Viewer, error) {
	v, err := f.Snapshot(target)
	if err != nil {
		return nil, err
	}
	return f.opts.Terminals.Open(ctx, v.Session, name)
}
