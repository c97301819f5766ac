package pty_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"gascity/internal/driver/shimdriver"
	"gascity/internal/terminal/inject"
	"gascity/runtime"
)

// folded is a text that the agent shows as "[Pasted text #1 +4 lines]", which the rules of a
// program without a profile do not know.
const folded = "fold\nthis\ntext\nplease"

// A process that delivers a text, which the agent folds, is killed after any step. The next process determines
// the outcome, the agent accepts the text once, and the next prompt separately.
func TestFoldedTextWhoseDelivererIsKilled(t *testing.T) {
	t.Parallel()
	for steps := 1; steps < 4; steps++ {
		t.Run(fmt.Sprint(steps, " steps"), func(t *testing.T) {
			t.Parallel()
			a := beginAs(t, "", "--think 5ms")
			a.deliverUntilDeath(t, "id", folded, steps)
			want := []string{folded, "next"}
			out, err := runtime.Settle(t.Context(), a.Provider, a.name, runtime.Delivery{ID: "id", Content: runtime.TextContent(folded)})
			switch {
			case err != nil:
				t.Fatal(err)
			case out.State == runtime.OutcomeRefused:
				want = want[1:]
			case out.State != runtime.OutcomeSubmitted:
				t.Fatalf("%+v", out)
			}
			a.prompt(t, "next")
			a.wantPrompts(t, want)
		})
	}
}

// touched is a deliverer with a key of a person between its text and Enter.
type touched struct {
	*shimdriver.Leased
	press func()
}

func (l *touched) Type(ctx context.Context, in inject.Input, p []byte) error {
	if in == inject.InputEnter || in == inject.InputSeen {
		l.press()
	}
	return l.Leased.Type(ctx, in, p)
}

func (l *touched) TypeSeen(ctx context.Context, seen uint64, in inject.Input, p []byte) error {
	l.press()
	return l.Leased.TypeSeen(ctx, seen, in, p)
}

// A person presses one key between a folded text and its Enter. The text is removed, nothing is submitted, and
// after the person's line is sent the next prompt arrives separately.
func TestKeyAfterAFoldedText(t *testing.T) {
	t.Parallel()
	a := beginAs(t, "", "--think 5ms")
	l, err := a.Session(t.Context(), "touch", a.name)
	if err != nil {
		t.Fatal(err)
	}
	leased, err := l.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leased.Close()
	press := sync.OnceFunc(func() {
		if err := a.SendKeys(a.name, "x"); err != nil {
			t.Error(err)
		}
	})
	out, err := inject.Deliver(t.Context(), &touched{leased, press}, "id", inject.Prompt{Text: folded}, l.Rules)
	if err != nil || out.State == runtime.OutcomeSubmitted {
		t.Fatalf("%+v, %v", out, err)
	}
	leased.Close()
	if err := a.SendKeys(a.name, "Enter"); err != nil {
		t.Fatal(err)
	}
	a.prompt(t, "next")
	a.wantPrompts(t, []string{"x", "next"})
}
