package screen_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/test/terminal"
)

// starved is a program that draws its dialog before it acts on keys, drops those that it
// reads until then, and gets little of the processor: it reads late and shows late what it
// has read. Its highlight wraps around.
type starved struct {
	*dialogProgram
	acts   time.Time            // when it begins to act on keys
	cooked time.Time            // until when the kernel collects lines for it
	reads  func() time.Duration // how long a key lies unread
	shows  func() time.Duration // how long it then takes to show
	tells  bool                 // it is known what was read

	mu     sync.Mutex
	unread int
	next   time.Time // when the last of them is read
	echoed int       // keys that came while the kernel collected lines
}

func (p *starved) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	f, err := p.t.Frame(ctx, after)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tells {
		f.Input = screen.InputRead
		if p.unread > 0 {
			f.Input = screen.InputWaiting
		}
	}
	if time.Now().Before(p.cooked) {
		f.Line, f.Input = screen.LineCooked, screen.InputUnknown
	}
	return f, err
}

func (p *starved) Send(ctx context.Context, in []byte) error {
	if err := p.t.Send(ctx, in); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.cooked) {
		p.echoed++
		return nil
	}
	p.unread++
	at := time.Now().Add(p.reads())
	if at.Before(p.next) {
		at = p.next // behind what came before
	}
	p.next = at
	time.AfterFunc(time.Until(at), func() { p.read(in) })
	return nil
}

func (p *starved) read(in []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unread--
	if time.Now().Before(p.acts) || len(p.screens) == 0 {
		return
	}
	switch options := p.screens[0]; string(in) {
	case "\x1b[A":
		p.at = (p.at + len(options) - 1) % len(options)
	case "\x1b[B":
		p.at = (p.at + 1) % len(options)
	case "\r":
		p.chosen = append(p.chosen, options[p.at])
		p.screens, p.text, p.at = p.screens[1:], p.text[1:], 0
	}
	time.AfterFunc(p.shows(), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.draw()
	})
}

func newStarved() *starved {
	p := &starved{dialogProgram: newDialogs([]string{trustWords, bypassWords},
		[]string{"No, exit", "Yes, I trust this folder"}, []string{"No, exit", "Yes, I accept"}), tells: true}
	p.t.Program = nil
	none := func() time.Duration { return 0 }
	p.reads, p.shows = none, none
	return p
}

var rightAnswers = []string{"Yes, I trust this folder", "Yes, I accept"}

func TestADroppedKeyIsPressedAgain(t *testing.T) {
	for _, deaf := range []time.Duration{400 * time.Millisecond, 2 * time.Second, 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := newStarved()
			p.acts = time.Now().Add(deaf)
			got, err := screen.Ready(t.Context(), p, terminal.Rules(t, "claude"), 0)
			if err != nil || got.State != screen.ReadyPrompt || !slices.Equal(p.chosen, rightAnswers) {
				t.Errorf("deaf for %v: %+v, %v, chose %q", deaf, got, err, p.chosen)
			}
		})
	}
}

// Where it is unknown whether the program has read the key, it may only be
// late.
func TestAKeyThatMayBeLateIsNotPressedAgain(t *testing.T) {
	for name, change := range map[string]func(*starved){
		"unread":         func(p *starved) { p.reads = func() time.Duration { return time.Hour } },
		"never reported": func(p *starved) { p.acts, p.tells = time.Now().Add(time.Hour), false },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newStarved()
				change(p)
				got, err := screen.Dismiss(t.Context(), p, terminal.Rules(t, "claude"), time.Minute)
				if err != nil || got.Unanswered == nil || len(p.t.Sent) != 1 {
					t.Errorf("%+v, %v after %q, want one key and a report", got, err, p.t.Sent)
				}
				time.Sleep(time.Hour) // of the bubble: what is under way comes to its end
			})
		})
	}
}

// The key that confirms is pressed once, whatever becomes of it.
func TestEnterIsNeverPressedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStarved()
		p.screens[0] = []string{"Yes, I trust this folder", "No, exit"}
		p.draw()
		p.acts = time.Now().Add(time.Hour)
		got, err := screen.Dismiss(t.Context(), p, terminal.Rules(t, "claude"), time.Minute)
		if err != nil || got.Unanswered == nil || p.t.Input() != "\r" {
			t.Errorf("%+v, %v after %q, want one Enter and a report", got, err, p.t.Sent)
		}
	})
}

// Where the next dialog takes it rightly, too, it is pressed again.
func TestEnterIsPressedAgainWhereTheRuleSaysSo(t *testing.T) {
	for _, deaf := range []time.Duration{400 * time.Millisecond, 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := newStarved()
			p.acts = time.Now().Add(deaf)
			rules := terminal.Rules(t, "claude")
			for i := range rules.Dialogs {
				rules.Dialogs[i].Again = true
			}
			p.screens[0], p.screens[1] = []string{"Yes, I trust this folder", "No, exit"}, []string{"Yes, I accept", "No, exit"}
			p.draw()
			got, err := screen.Ready(t.Context(), p, rules, 0)
			if err != nil || got.State != screen.ReadyPrompt || !slices.Equal(p.chosen, rightAnswers) || got.Answered != 2 {
				t.Errorf("deaf for %v: %+v, %v, chose %q", deaf, got, err, p.chosen)
			}
		})
	}
}

func TestNoKeyWhileTheKernelCollectsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStarved()
		p.cooked = time.Now().Add(3 * time.Second)
		got, err := screen.Ready(t.Context(), p, terminal.Rules(t, "claude"), 0)
		if err != nil || got.State != screen.ReadyPrompt || p.echoed > 0 || !slices.Equal(p.chosen, rightAnswers) {
			t.Errorf("%+v, %v, %d keys in cooked mode, chose %q", got, err, p.echoed, p.chosen)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := newStarved()
		p.cooked = time.Now().Add(time.Hour)
		got, err := screen.Dismiss(t.Context(), p, terminal.Rules(t, "claude"), time.Minute)
		if err != nil || got.Unanswered == nil || len(p.t.Sent) > 0 {
			t.Errorf("%+v, %v after %q, want a report and no key", got, err, p.t.Sent)
		}
	})
}

// However late a program reads, it is never given a wrong answer, and mostly the right one.
func TestStarvedProgramsAreAnsweredRightOrNotAtAll(t *testing.T) {
	right := 0
	const starts = 300
	for seed := range uint64(starts) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			upTo := func(d time.Duration) func() time.Duration {
				return func() time.Duration { return time.Duration(random.Int64N(int64(d))) }
			}
			p := newStarved()
			p.acts = time.Now().Add(upTo(3 * time.Second)())
			p.reads, p.shows = upTo(5*time.Second), upTo(time.Second)
			_, err := screen.Ready(t.Context(), p, terminal.Rules(t, "claude"), 0)
			if err != nil || slices.Contains(p.chosen, "No, exit") {
				t.Errorf("seed %d: %v, chose %q after %q", seed, err, p.chosen, p.t.Sent)
			}
			if slices.Equal(p.chosen, rightAnswers) {
				right++
			}
			time.Sleep(time.Minute) // of the bubble: what is under way comes to its end
		})
	}
	t.Logf("%d of %d answered", right, starts)
	if right < starts*9/10 {
		t.Errorf("only %d of %d were answered", right, starts)
	}
}
