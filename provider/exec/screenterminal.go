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
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// screenTerminal is a session's terminal as the rules of package screen see it, looked at and
// pressed keys at by calls of the script. It is for one act.
type screenTerminal struct {
	p    *Provider
	name string

	mu    sync.Mutex // guards the rest
	seq   uint64
	frame screen.Frame
	sum   uint64
}

var _ screen.Terminal = (*screenTerminal)(nil)

const (
	frameGap  = 50 * time.Millisecond // between two looks that wait for a change
	frameTime = 10 * time.Second      // of one look
)

// Frame looks until the screen is another one. A look that has begun is not cut off: what
// it found counts, even if ctx has ended meanwhile, since a script takes its time.
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
		if pause(ctx, frameGap) != nil {
			return screen.Frame{}, fmt.Errorf("the screen has not changed: %w", ctx.Err())
		}
	}
}

func (s *screenTerminal) capture(ctx context.Context) (screen.Frame, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), frameTime)
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

// Send presses the key that makes these bytes. A script knows keys, not bytes.
func (s *screenTerminal) Send(_ context.Context, p []byte) error {
	name, ok := keyNamed(p)
	if !ok {
		return fmt.Errorf("cannot press a key in session %q: %q is not a key that a script knows", s.name, p)
	}
	return s.p.SendKeys(s.name, name)
}

// keyNamed returns the name of the key that makes these bytes.
func keyNamed(p []byte) (string, bool) {
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
	drawn    bool             // by the operation screen: the cursor is where it is
	instance string           // empty: not reported
	agent    runtime.Liveness // unknown: not reported
}

// captureScreen looks at the screen: by the operation screen, else by peek, which shows the last
// lines without a cursor. A script that has neither is errors.ErrUnsupported.
func (p *Provider) captureScreen(ctx context.Context, name string) (screenState, error) {
	if !p.caps.Has(script.CapScreen) {
		text, err := p.peek(ctx, name, screenRows)
		if err != nil {
			return screenState{}, err
		}
		rows := screenOf(text)
		out := screenState{Frame: screen.Frame{Seq: 1, Rows: rows}, sum: p.screens.sum([]byte(text))}
		out.Cursor.Y = len(rows) - 1
		return out, nil
	}
	r, err := p.call(ctx, request{op: script.OpScreen, name: name, verb: "look at the screen of"})
	if err != nil {
		return screenState{}, err
	}
	s, err := script.ParseScreen(r.out)
	if err != nil {
		return screenState{}, fmt.Errorf("script %s screen: %w", p.cfg.Script, err)
	}
	return screenState{Frame: frameOf(s), sum: p.screens.sum(r.out), drawn: true, instance: s.Instance, agent: s.Agent}, nil
}

// pointed returns the frame with the cursor behind the lowest row that begins with the prompt, if the
// screen is known without a cursor.
func (s screenState) pointed(prefix string) screen.Frame {
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

// screenHistory remembers what the screens of sessions looked like, and since when. The zero value
// is useful.
type screenHistory struct {
	once sync.Once
	seed maphash.Seed

	mu   sync.Mutex
	last map[string]screenSum
}

type screenSum struct {
	sum   uint64
	at    time.Time // when it was first seen; zero: not seen before
	noted time.Time
}

func (m *screenHistory) sum(text []byte) uint64 {
	m.once.Do(func() { m.seed = maphash.MakeSeed() })
	return maphash.Bytes(m.seed, text)
}

// since records what the screen looks like now, and returns since when it is known to, and when
// to look again where no event reports a change: soon after one, then ever later; zero if it
// has not changed for long.
func (m *screenHistory) since(name string, sum uint64, now time.Time) (since, again time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.last[name]
	if !ok || was.sum != sum {
		if m.last == nil {
			m.last = map[string]screenSum{}
		}
		is := screenSum{sum: sum, noted: now}
		if ok {
			is.at = now
		}
		m.last[name], was = is, is
	}
	if still := now.Sub(was.noted); still < stillFor {
		again = now.Add(max(soonest, still/2))
	}
	return was.at, again
}

const (
	soonest  = time.Second // between two looks at a screen that changes
	stillFor = time.Minute // then only who has another reason looks
)

func (m *screenHistory) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.last, name)
}

// errBlind says that the screens of this script are not read: it knows more of its
// sessions than their screens, or has none.
var errBlind = fmt.Errorf("the script's screens are not read: %w", errors.ErrUnsupported)

// reads reports whether screens are what this script's sessions are known by.
func (p *Provider) reads() bool {
	return !p.caps.Has(script.CapSequence) && !p.caps.Has(script.CapDeliver)
}
