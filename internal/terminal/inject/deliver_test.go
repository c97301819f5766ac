package inject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
	"gascity/test/terminal"
)

// fileLease is a lease whose account is stored as text, as by a driver without a process of its
// own beside the terminal. It dies after so many steps; below zero it does not.
type fileLease struct {
	*terminal.Fake

	account *string
	steps   int
	between func() // is called before each step
}

var errDead = errors.New("the deliverer is dead")

func (f *fileLease) step(do func(*DeliveryLog) error) error {
	if f.between != nil {
		f.between()
	}
	if f.steps == 0 {
		return errDead
	}
	f.steps--
	return f.file(do)
}

// file changes the account where it is stored.
func (f *fileLease) file(do func(*DeliveryLog) error) error {
	d := &DeliveryLog{Limit: 64}
	if *f.account != "" {
		if err := json.Unmarshal([]byte(*f.account), d); err != nil {
			return err
		}
	}
	done := do(d)
	data, err := json.Marshal(d)
	*f.account = string(data)
	return errors.Join(done, err)
}

// touched is what the driver does when somebody else's input comes.
func (f *fileLease) touched() {
	var undo []byte
	if err := f.file(func(d *DeliveryLog) error { undo = d.Touch(); return nil }); err != nil {
		panic(err)
	}
	if len(undo) > 0 {
		f.Program(undo)
	}
}

func (f *fileLease) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	if f.steps == 0 {
		return screen.Frame{}, errDead
	}
	return f.Fake.Frame(ctx, after)
}

func (f *fileLease) Send(ctx context.Context, p []byte) error { return f.Type(ctx, InputKeys, p) }

func (f *fileLease) Type(ctx context.Context, in Input, p []byte) error {
	return f.step(func(d *DeliveryLog) error {
		if err := d.Send(in, p); err != nil {
			return err
		}
		return f.Fake.Send(ctx, p)
	})
}

func (f *fileLease) Begin(_ context.Context, id, text string, undo []byte) error {
	return f.step(func(d *DeliveryLog) error { d.Begin(id, []byte(text), undo); return nil })
}

func (f *fileLease) Account(_ context.Context, id string) (a DeliveryAccount, err error) {
	err = f.file(func(d *DeliveryLog) error { a = d.Account(id); return nil })
	return a, err
}

func (f *fileLease) RecordOutcome(_ context.Context, e DeliveryEntry) error {
	return f.step(func(d *DeliveryLog) error { d.RecordOutcome(e); return nil })
}

// A deliverer dies after each of its steps, and perhaps the one after it, too: who comes
// next finds out the truth, and the prompt is taken once.
func TestDelivererDies(t *testing.T) {
	for _, style := range []string{"rules", "open", "line"} {
		for first := range 7 {
			for second := range 6 {
				t.Run(fmt.Sprintf("%s %d %d", style, first, second), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { diesTwice(t, terminal.Face{Style: style}, first, second) })
				})
			}
		}
	}
}

func diesTwice(t *testing.T, face terminal.Face, first, second int) {
	agent, rules, account := terminal.NewAgent(face), face.Rules(t), ""
	lease := func(steps int) *fileLease { return &fileLease{Fake: agent.T, account: &account, steps: steps} }
	prompt := Prompt{Text: "transfer the money once"}
	// A death may come too late to matter: then there is an outcome, and no error.
	out, err := Deliver(t.Context(), lease(first), "id", prompt, rules)
	if err != nil && !errors.Is(err, errDead) {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := ResolveDelivery(t.Context(), lease(second), "id", rules); err != nil && !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	out, err = ResolveDelivery(t.Context(), lease(-1), "id", rules)
	if err != nil || out.State == runtime.OutcomeUnconfirmed {
		t.Fatalf("its outcome is unknown: %+v, %v", out, err)
	}
	taken := []string{prompt.Text, "next"}
	if out.State == runtime.OutcomeRefused { // it was never taken: it may be sent again
		if out, err = Deliver(t.Context(), lease(-1), "id", prompt, rules); err != nil || out.State != runtime.OutcomeSubmitted {
			t.Fatalf("again: %+v, %v", out, err)
		}
	}
	if out, err = Deliver(t.Context(), lease(-1), "next", Prompt{Text: "next"}, rules); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Fatalf("the next: %+v, %v", out, err)
	}
	time.Sleep(time.Second)
	if got := agent.Prompts(); !slices.Equal(got, taken) {
		t.Errorf("the agent took %q, want %q", got, taken)
	}
}

// What somebody types between a text and its Enter is not submitted by us, and the text is
// out of the line before it.
func TestTouchedDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		face, account := terminal.Face{Style: "rules"}, ""
		agent := terminal.NewAgent(face)
		l := &fileLease{Fake: agent.T, account: &account, steps: -1}
		l.between = func() {
			if strings.Contains(agent.T.Input(), "our prompt") && agent.Line() == "our prompt" {
				l.between = nil
				l.touched() // and nothing reports that on the screen
				agent.Feed([]byte("mine"))
			}
		}
		out, err := Deliver(t.Context(), l, "id", Prompt{Text: "our prompt"}, face.Rules(t))
		if err != nil || out.State == runtime.OutcomeSubmitted {
			t.Errorf("%+v, %v", out, err)
		}
		time.Sleep(time.Second)
		if agent.Line() != "mine" || len(agent.Prompts()) > 0 {
			t.Errorf("the line holds %q, the agent took %q", agent.Line(), agent.Prompts())
		}
		agent.Feed([]byte("\x15"))
		time.Sleep(time.Minute)
		if out, err = ResolveDelivery(t.Context(), l, "id", face.Rules(t)); err != nil || out.Reason != runtime.RefusedWithdrawn {
			t.Errorf("it was %+v, %v, want withdrawn", out, err)
		}
	})
}

func TestPatiently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedDraft}
		n := 0
		out, err := RetryUntilKnown(t.Context(), func() (runtime.Outcome, error) {
			if n++; n < 5 {
				return busy, nil
			}
			return runtime.Outcome{State: runtime.OutcomeSubmitted}, nil
		})
		if err != nil || out.State != runtime.OutcomeSubmitted || n != 5 {
			t.Errorf("%+v, %v after %d", out, err, n)
		}
		began := time.Now()
		out, err = RetryUntilKnown(t.Context(), func() (runtime.Outcome, error) { return busy, nil })
		if took := time.Since(began); err != nil || out.Reason != busy.Reason || took < resolveTimeout || took > resolveTimeout+time.Second {
			t.Errorf("%+v, %v after %s", out, err, took)
		}
	})
}
