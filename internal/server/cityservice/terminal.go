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
	"gascity/internal/service/terminals"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// Screen implements controlapi.Screener.
func (f Service) Screen(ctx context.Context, target string, style client.ScreenStyle) (client.Screen, error) {
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
	return readScreen(viewer, v.Session, style).Screen, nil
}

// readScreen returns what the viewer does not show yet. Target is not set.
func readScreen(viewer *terminals.Viewer, session string, style client.ScreenStyle) client.ScreenUpdate {
	read := viewer.ReadOutput
	if style == client.StyleLines {
		read = viewer.ReadRows
	}
	u := read()
	return client.ScreenUpdate{
		Screen: client.Screen{Session: session, Cols: u.Cols, Rows: u.Rows, Output: string(u.Output), Plain: u.Plain, Lines: linesOf(u.Lines)},
		All:    u.All,
	}
}

// unreadable returns the error for a screen that cannot be read because of err.
func unreadable(target string, err error) error {
	return fmt.Errorf("%w: cannot read the screen of %s: %w", client.ErrUnavailable, target, err)
}

// linesPause is the shortest time between two updates of styled lines in a stream. Lines are for pictures of many screens; output
// for a terminal emulator comes as soon as it can be sent.
const linesPause = 350 * time.Millisecond

// Screens implements controlapi.Screener.
func (f Service) Screens(ctx context.Context, targets []string, style client.ScreenStyle, send func(client.ScreenUpdate) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var turn sync.Mutex // of send: a screen is read only when it can be sent, so nothing is queued
	var work sync.WaitGroup
	for _, target := range slices.Compact(slices.Sorted(slices.Values(targets))) {
		work.Go(func() {
			err := f.follow(ctx, target, style, func(read func() client.ScreenUpdate) error {
				turn.Lock()
				defer turn.Unlock()
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				u := read()
				u.Target = target
				return send(u)
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

// follow sends the screen of one target and its changes until it has none any more. It returns an error of send, and nil for any
// other end.
func (f Service) follow(ctx context.Context, target string, style client.ScreenStyle, send func(read func() client.ScreenUpdate) error) error {
	end := func(err error) error {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the reader has ended
		}
		return send(func() client.ScreenUpdate { return endOfScreen(err) })
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
	var pause time.Duration
	if style == client.StyleLines {
		pause = linesPause
	}
	for {
		if err := viewer.AwaitChange(ctx, pause); err != nil {
			return end(unreadable(target, err))
		}
		if err := send(func() client.ScreenUpdate { return readScreen(viewer, v.Session, style) }); err != nil {
			return err
		}
	}
}

// endOfScreen returns the update of a target that has no screen, or none any more.
func endOfScreen(err error) client.ScreenUpdate {
	u := client.ScreenUpdate{Ended: whyNoScreen(err)}
	if !errors.Is(err, io.EOF) {
		u.Problem = client.ProblemOf(err)
	}
	return u
}

// whyNoScreen returns for people why a target has no screen.
func whyNoScreen(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "the agent has exited"
	case errors.Is(err, runtime.ErrSessionNotFound), errors.Is(err, client.ErrRefused):
		return "the agent is not running"
	case errors.Is(err, errors.ErrUnsupported):
		return "the runtime provider cannot show a screen"
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
