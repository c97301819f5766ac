package exec

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"gascity/internal/driver/script"
	"gascity/internal/retry"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// screenTerminal implements screen.Terminal for a session. It reads the screen and sends keys by
// calls of the script. It is used for one operation.
type screenTerminal struct {
	p    *Provider
	name string

	mu    sync.Mutex // guards the fields below
	seq   uint64
	frame screen.Frame
	sum   uint64
}

var _ screen.Terminal = (*screenTerminal)(nil)

const (
	frameInterval = 50 * time.Millisecond // time between two readings of the screen
	frameTimeout  = 10 * time.Second      // limit of one reading
)

// Frame reads the screen until it is newer than after. It does not interrupt a reading that has
// begun: its result is used even if ctx has ended meanwhile, because a script may be slow.
func (s *screenTerminal) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	for {
		f, err := s.capture(ctx)
		switch {
		case err != nil:
			return screen.Frame{}, err
		case f.Exited, f.Seq > after:
			return f, nil
		case ctx.Err() != nil:
			return screen.Frame{}, fmt.Errorf("the screen has not changed: %w", ctx.Err())
		}
		if !retry.Sleep(ctx, frameInterval) {
			return screen.Frame{}, fmt.Errorf("the screen has not changed: %w", ctx.Err())
		}
	}
}

// capture reads the screen once. If it differs from the last one, the frame gets the next sequence number. If the
// session or its agent is gone, capture returns the last frame with Exited set.
func (s *screenTerminal) capture(ctx context.Context) (screen.Frame, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), frameTimeout)
	defer cancel()
	shot, err := s.p.captureScreen(ctx, s.name)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case runtime.IsSessionGone(err), err == nil && shot.agent == runtime.Dead:
		s.frame.Exited = true
		return s.frame, nil
	case err != nil:
		return screen.Frame{}, err
	case s.seq == 0 || shot.sum != s.sum:
		if s.seq++; s.seq > 1 {
			shot.LastOutput = time.Now()
		}
		shot.Seq, s.sum = s.seq, shot.sum
		s.frame = shot.Frame
	}
	return s.frame, nil
}

// Send presses the key that produces the bytes p. A script accepts names of keys and not bytes.
func (s *screenTerminal) Send(_ context.Context, p []byte) error {
	name, ok := keyNamed(p)
	if !ok {
		return fmt.Errorf("cannot press a key in session %q: %q is not a key that a script knows", s.name, p)
	}
	return s.p.SendKeys(s.name, name)
}

// keyNamed returns the name of the key that produces the bytes p. ok is false if there is none.
func keyNamed(p []byte) (name string, ok bool) {
	if len(p) == 1 && p[0] > ' ' && p[0] < 0x7f {
		return string(p), true
	}
	for _, name := range []string{"Enter", "Escape", "Tab", "Space", "BSpace", "Up", "Down", "Left", "Right", "Home", "End", "PageUp", "PageDown", "BTab"} {
		for _, modes := range []vt.Modes{{}, {AppCursorKeys: true}} {
			if made, err := vt.Key(name, modes); err == nil && string(made) == string(p) {
				return name, true
			}
		}
	}
	return "", false
}

// screenState is the screen at one moment.
type screenState struct {
	screen.Frame
	sum      uint64
	drawn    bool             // read by the operation screen, so the cursor is known
	instance string           // empty if not reported
	agent    runtime.Liveness // unknown if not reported
}

// captureScreen reads the screen with the operation screen, else with peek, which returns the last
// lines without a cursor. If the script has neither, the error matches errors.ErrUnsupported.
func (p *Provider) captureScreen(ctx context.Context, name string) (screenState, error) {
	if !p.caps.Has(script.CapScreen) {
		text, err := p.peek(ctx, name, screenRows)
		if err != nil {
			return screenState{}, err
		}
		return screenState{Frame: frameOfText(text), sum: maphash.String(p.screenSeed, text)}, nil
	}
	r, err := p.call(ctx, request{op: script.OpScreen, name: name, verb: "read the screen of"})
	if err != nil {
		return screenState{}, err
	}
	s, err := script.ParseScreen(r.out)
	if err != nil {
		return screenState{}, fmt.Errorf("script %s screen: %w", p.cfg.Script, err)
	}
	return screenState{Frame: frameOf(s), sum: maphash.Bytes(p.screenSeed, r.out), drawn: true, instance: s.Instance, agent: s.Agent}, nil
}

// withPromptCursor returns the frame. If the cursor is unknown, it is set to the end of the lowest row that
// begins with the prompt.
func (s screenState) withPromptCursor(prefix string) screen.Frame {
	f := s.Frame
	if s.drawn || prefix == "" {
		return f
	}
	for y, row := range slices.Backward(f.Rows) {
		if promptIn(row, prefix) {
			f.Cursor = vt.Cursor{X: utf8.RuneCountInString(row), Y: y, Visible: true}
			break
		}
	}
	return f
}

// screenSum is a hash of the last screen of a session.
type screenSum struct {
	sum   uint64
	at    time.Time // when the screen changed to this state; zero if no change was observed
	noted time.Time // when this state was first read
}

// recordScreen records the screen of a session. It returns when the screen changed to this state, zero if
// unknown, and when to read it again if no event reports changes: soon after a change, then at
// growing intervals, and zero if it has not changed for stillFor.
func (p *Provider) recordScreen(name string, sum uint64, now time.Time) (since, again time.Time) {
	p.screens.update(name, func(last screenSum, ok bool) screenSum {
		switch {
		case !ok:
			last = screenSum{sum: sum, noted: now}
		case last.sum != sum:
			last = screenSum{sum, now, now}
		}
		since = last.at
		if still := now.Sub(last.noted); still < stillFor {
			again = now.Add(max(minInterval, still/2))
		}
		return last
	})
	return since, again
}

const (
	minInterval = time.Second // shortest time between two readings of a screen
	stillFor    = time.Minute // a screen without changes for this time is not read again without an event
)

// errScreensUnread reports that the driver does not interpret the screens of this script. The script
// declares start.sequence or deliver, so it knows more about its sessions than their screens show.
var errScreensUnread = fmt.Errorf("gc does not read the screens of this script: %w", errors.ErrUnsupported)

// readsScreens reports whether the driver interprets the screens of the script's sessions.
func (p *Provider) readsScreens() bool {
	return !p.caps.Has(script.CapSequence) && !p.caps.Has(script.CapDeliver)
}
