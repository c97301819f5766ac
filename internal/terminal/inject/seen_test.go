package inject

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
	"gascity/test/terminal"
)

// surprising is a terminal on which a dialog comes up at the worst moment.
type surprising struct {
	*terminal.Fake
	agent *terminal.Agent
	text  string
	// atSend: the dialog is drawn between the last look and Enter, and the terminal knows it. Else
	// it is drawn right behind the frame that shows the text.
	atSend bool
	shown  bool
	tries  int
}

// Frame implements screen.Terminal.
func (s *surprising) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	f, err := s.Fake.Frame(ctx, after)
	if !s.atSend && !s.shown && strings.Contains(strings.Join(f.Rows, "\n"), s.text) {
		s.shown = true
		s.agent.ShowDialog()
	}
	return f, err
}

// lease is the terminal with an account of one delivery.
type lease struct {
	*surprising
}

func (lease) Begin(context.Context, string, string, []byte) error { return nil }

func (l lease) Type(ctx context.Context, _ Input, p []byte) error { return l.Send(ctx, p) }

func (l lease) TypeSeen(ctx context.Context, seen uint64, in Input, p []byte) error {
	if l.tries++; l.atSend && !l.shown {
		l.shown = true
		l.agent.ShowDialog()
	}
	if f, err := l.Fake.Frame(ctx, 0); err != nil || f.Seq != seen {
		return fmt.Errorf("%w: %w", ErrChanged, context.Cause(ctx))
	}
	return l.Type(ctx, in, p)
}

func (lease) Account(context.Context, string) (DeliveryAccount, error) {
	return DeliveryAccount{}, nil
}

func (lease) RecordOutcome(context.Context, DeliveryEntry) error { return nil }

// TestEnterIsBoundToTheScreen: a dialog that comes up between the last change of the screen and
// Enter gets no Enter: the screen is read right before it, and the terminal refuses it for another
// screen.
func TestEnterIsBoundToTheScreen(t *testing.T) {
	for _, atSend := range []bool{false, true} {
		t.Run(fmt.Sprintf("atSend=%t", atSend), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := terminal.Face{Style: "rules", Dialog: terminal.Trust}
				agent := terminal.NewAgent(f)
				s := lease{&surprising{Fake: agent.T, agent: agent, text: "hello", atSend: atSend}}
				out, err := target{s, "id"}.deliver(t.Context(), Prompt{Text: "hello"}, f.Rules(t))
				if err != nil || out.State != runtime.OutcomeUnconfirmed || !strings.Contains(out.Detail, "a dialog appeared") {
					t.Errorf("%+v, %v; want unconfirmed because of the dialog", out, err)
				}
				if !s.shown || strings.Contains(s.Input(), "\r") {
					t.Errorf("shown %t, the program got %q; want no Enter", s.shown, s.Input())
				}
			})
		})
	}
}

// TestEnterReachesAProgramThatDrawsAllTheTime: an Enter that is refused for the screen is sent for
// the next one, and at last for any.
func TestEnterReachesAProgramThatDrawsAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules"}
		agent := terminal.NewAgent(f)
		s := restless{lease{&surprising{Fake: agent.T, agent: agent, text: "hello"}}}
		s.shown = true // no dialog
		out, err := target{s, "id"}.deliver(t.Context(), Prompt{Text: "hello"}, f.Rules(t))
		if err != nil || out.State != runtime.OutcomeSubmitted || s.tries != maxEnterAttempts-1 {
			t.Errorf("%+v, %v after %d tries", out, err, s.tries)
		}
	})
}

// restless is a terminal whose screen is another one whenever something is typed.
type restless struct{ lease }

func (r restless) TypeSeen(context.Context, uint64, Input, []byte) error {
	r.tries++
	return ErrChanged
}

// TestEnterWaitsForARepaintWheneverItComes: a program that begins to paint its input box again right
// before Enter, so that its text is not on the screen for a moment, gets Enter once the text is back.
func TestEnterWaitsForARepaintWheneverItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := terminal.Face{Style: "rules"}
		agent := terminal.NewAgent(f)
		s := &repainting{lease: lease{&surprising{Fake: agent.T, agent: agent, text: "hello", shown: true}}}
		out, err := target{s, "id"}.deliver(t.Context(), Prompt{Text: "hello"}, f.Rules(t))
		if err != nil || out.State != runtime.OutcomeSubmitted || s.tries < 2 {
			t.Errorf("%+v, %v after %d tries; want submitted", out, err, s.tries)
		}
	})
}

// repainting is a terminal whose program paints its input box again at the first Enter: empty, and
// a moment later as it was.
type repainting struct{ lease }

func (r *repainting) TypeSeen(ctx context.Context, seen uint64, in Input, p []byte) error {
	if r.tries > 0 {
		return r.lease.TypeSeen(ctx, seen, in, p)
	}
	r.tries++
	var was string
	r.agent.Change(func() { was, r.agent.Shown = r.agent.Shown, "" })
	time.AfterFunc(50*time.Millisecond, func() { r.agent.Change(func() { r.agent.Shown = was }) })
	return ErrChanged
}
