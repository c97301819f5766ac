package pty_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity/internal/driver/shimdriver"
	"gascity/internal/fakeagent/ledger"
	"gascity/internal/shim"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/provider/pty"
	"gascity/runtime"
)

// dyingDeliverer is a deliverer that is killed after a number of steps. It sends nothing after them and does not
// clean up.
type dyingDeliverer struct {
	*shimdriver.Leased
	left int
}

var errDead = errors.New("the deliverer is dead")

func (d *dyingDeliverer) step(do func() error) error {
	if d.left == 0 {
		d.Close()
		return errDead
	}
	d.left--
	return do()
}

func (d *dyingDeliverer) Begin(ctx context.Context, id, text string, undo []byte) error {
	return d.step(func() error { return d.Leased.Begin(ctx, id, text, undo) })
}

func (d *dyingDeliverer) Type(ctx context.Context, in inject.Input, p []byte) error {
	return d.step(func() error { return d.Leased.Type(ctx, in, p) })
}

func (d *dyingDeliverer) TypeSeen(ctx context.Context, seen uint64, in inject.Input, p []byte) error {
	return d.step(func() error { return d.Leased.TypeSeen(ctx, seen, in, p) })
}

func (d *dyingDeliverer) Send(ctx context.Context, p []byte) error {
	return d.step(func() error { return d.Leased.Send(ctx, p) })
}

func (d *dyingDeliverer) RecordOutcome(ctx context.Context, e inject.DeliveryEntry) error {
	return d.step(func() error { return d.Leased.RecordOutcome(ctx, e) })
}

func (d *dyingDeliverer) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	if d.left == 0 {
		d.Close()
		return screen.Frame{}, errDead
	}
	return d.Leased.Frame(ctx, after)
}

// deliverUntilDeath delivers until the deliverer is killed.
func (a *ledgerSession) deliverUntilDeath(t *testing.T, id, text string, steps int) {
	t.Helper()
	l, err := a.Session(t.Context(), "kill the deliverer of", a.name)
	if err != nil {
		t.Fatal(err)
	}
	leased, err := l.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leased.Close()
	d := &dyingDeliverer{leased, steps}
	out, err := inject.Deliver(t.Context(), d, id, inject.Prompt{Text: text}, l.Rules)
	if !errors.Is(err, errDead) && d.left > 0 { // without an error it was killed while it resolved the previous delivery
		t.Fatalf("it lived for %d steps: %+v, %v", steps, out, err)
	}
}

// resolverDies resolves a delivery until the process is killed.
func (a *ledgerSession) resolverDies(t *testing.T, steps int) {
	t.Helper()
	l, err := a.Session(t.Context(), "kill the resolver of", a.name)
	if err != nil {
		t.Fatal(err)
	}
	leased, err := l.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leased.Close()
	if out, err := inject.ResolveDelivery(t.Context(), &dyingDeliverer{leased, steps}, "id", l.Rules); err != nil && !errors.Is(err, errDead) {
		t.Fatalf("%+v, %v", out, err)
	}
}

// TestResolverIsKilled: the process that determines the outcome of a text may be killed, too.
func TestResolverIsKilled(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]string{"good": "--think 5ms", "ignores the first Enter": "--think 5ms --ignore-first-enter"} {
		for steps := 2; steps < 4; steps++ {
			for dead := range 4 {
				t.Run(fmt.Sprintf("%s, %d, %d", name, steps, dead), func(t *testing.T) {
					t.Parallel()
					a := beginAs(t, "", flags)
					text := textsOf("<resolved by the dead>")[dead]
					a.deliverUntilDeath(t, "id", text, steps)
					a.resolverDies(t, dead)
					a.resolverDies(t, dead)
					if state := a.recovers(t, "id", text); state != runtime.OutcomeSubmitted {
						t.Errorf("the prompt is %s", state)
					}
					a.prompt(t, "next")
					a.wantPrompts(t, []string{text, "next"})
				})
			}
		}
	}
}

// recovers determines the outcome as the next deliverer does, and delivers again if that is allowed. It returns
// the outcome of the prompt.
func (a *ledgerSession) recovers(t *testing.T, id, text string) runtime.OutcomeState {
	t.Helper()
	return a.recoversFrom(t, runtime.Delivery{ID: id, Content: runtime.TextContent(text)})
}

// recoversFrom does the same after an attempt with a number.
func (a *ledgerSession) recoversFrom(t *testing.T, d runtime.Delivery) runtime.OutcomeState {
	t.Helper()
	out, err := runtime.Settle(t.Context(), a.Provider, a.name, d)
	if err != nil {
		t.Fatal(err)
	}
	soon := func() bool { return out.State == runtime.OutcomeUnconfirmed && out.Reason != "" } // see inject.ResolveDelivery
	for end := time.Now().Add(120 * time.Second); (out.State == runtime.OutcomeRefused || soon()) && time.Now().Before(end); {
		if out.State == runtime.OutcomeRefused {
			if d.Attempt > 0 {
				d.Attempt++
			}
			if out, err = a.Deliver(t.Context(), a.name, d); err != nil {
				t.Fatal(err)
			}
		}
		if out.State == runtime.OutcomeUnconfirmed {
			if out, err = runtime.Settle(t.Context(), a.Provider, a.name, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	if out.State != runtime.OutcomeSubmitted {
		t.Logf("%s of %d bytes: %+v", d.ID, len(runtime.FlattenText(d.Content)), out)
	}
	return out.State
}

// wantPrompts fails unless the agent accepted exactly these texts, in order.
func (a *ledgerSession) wantPrompts(t *testing.T, texts []string) {
	t.Helper()
	var got, want []string
	for _, r := range a.wait(t, ledger.Prompt, len(texts)) {
		got = append(got, fmt.Sprintf("%d bytes %s", r.Bytes, r.SHA256))
	}
	for _, text := range texts {
		want = append(want, fmt.Sprintf("%d bytes %s", len(text), ledger.Sum(text)))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the agent took other prompts than were sent: %q", difference(got, want))
	}
}

// The sizes of texts, by name.
func textsOf(name string) []string {
	lines := strings.Repeat("a line of a long prompt, 0123456789\n", 30_000)
	var texts []string
	for _, n := range []int{20, 300, 5_000, 60_000} {
		texts = append(texts, name+" "+strings.ReplaceAll(lines, "\n", " ")[:n]+"$")
	}
	return append(texts, name+"\nof three\nlines", name+"\n"+lines[:2_000]+"$", name+" "+lines[:1<<20]+"$")
}

// TestDelivererIsKilledAtEachStep: a deliverer is killed after each step, and the next one determines the
// outcome. No prompt is joined with another one, cut, repeated or lost.
func TestDelivererIsKilledAtEachStep(t *testing.T) {
	t.Parallel()
	agents := map[string]string{
		"good": "", "alternate screen": "--alt-screen", "ignores the first Enter": "--ignore-first-enter",
		"newline": "--newline-within 60ms", "busy": "--think 500ms", "slow": "--slow-read 150ms",
	}
	for name, flags := range agents {
		for _, provider := range []string{"claude", ""} {
			if name == "newline" && provider != "" {
				continue // its profile presses Enter at once
			}
			t.Run(name+" "+provider, func(t *testing.T) {
				t.Parallel()
				a := beginAs(t, provider, flags)
				var sent []string
				for steps := range 4 { // before and after: the record, the text, Enter
					texts := textsOf(fmt.Sprintf("<died after %d>", steps))
					if name == "slow" {
						texts = texts[:2]
					} else if steps%2 == 0 || steps == 3 && name != "good" {
						texts = texts[:len(texts)-1] // the last one has a megabyte
					}
					for i, text := range texts {
						id := fmt.Sprintf("%d-%d", steps, i)
						a.deliverUntilDeath(t, id, text, steps)
						if state := a.recovers(t, id, text); state != runtime.OutcomeSubmitted {
							t.Errorf("%s is %s: its outcome could be known", id, state)
						}
						sent = append(sent, text)
					}
				}
				a.wantPrompts(t, sent)
			})
		}
	}
}

// The next delivery resolves the previous one before it sends a byte. The outcome can be requested later.
func TestNextDeliveryResolvesThePrevious(t *testing.T) {
	t.Parallel()
	for steps := range 4 {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			a := beginAs(t, "", "--think 5ms")
			text := textsOf("<left>")[steps]
			a.deliverUntilDeath(t, "left", text, steps)
			a.prompt(t, "next")
			out, err := runtime.Settle(t.Context(), a.Provider, a.name, runtime.Delivery{ID: "left", Content: runtime.TextContent(text)})
			if err != nil {
				t.Fatal(err)
			}
			if steps == 3 {
				if out.State != runtime.OutcomeSubmitted {
					t.Errorf("after Enter it is %+v", out)
				}
				a.wantPrompts(t, []string{text, "next"})
				return
			}
			if out.State != runtime.OutcomeRefused || out.Reason != runtime.RefusedWithdrawn {
				t.Errorf("it is %+v, want withdrawn", out)
			}
			a.wantPrompts(t, []string{"next"})
		})
	}
}

// delivererMain delivers the text in a file, in a separate process.
func delivererMain(dir, name, id, attempt, file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return 1
	}
	p, err := pty.Open(config(dir))
	if err != nil {
		return 1
	}
	n, err := strconv.Atoi(attempt)
	if err != nil {
		return 1
	}
	if _, err = p.Deliver(context.Background(), name, runtime.Delivery{ID: id, Attempt: n, Content: runtime.TextContent(string(text))}); err != nil { //nolint:forbidigo // this is a main
		return 1
	}
	return 0
}

// TestDelivererIsKilled kills processes that deliver at random moments. Senders count their attempts, or do not.
func TestDelivererIsKilled(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]string{"good": "--think 5ms", "slow": "--think 5ms --slow-read 20ms", "ignores the first Enter": "--think 5ms --ignore-first-enter"} {
		for attempt := range 2 {
			t.Run(fmt.Sprintf("%s, attempt %d", name, attempt), func(t *testing.T) {
				t.Parallel()
				a := beginAs(t, "", flags)
				var sent []string
				for n := range 10 {
					texts := textsOf(fmt.Sprintf("<killed %d>", n))
					text, id := texts[n%len(texts)], fmt.Sprint(n)
					if name == "slow" && len(text) > 100_000 {
						text = texts[0]
					}
					a.kill(t, id, attempt, text)
					if state := a.recoversFrom(t, runtime.Delivery{ID: id, Attempt: attempt, Content: runtime.TextContent(text)}); state != runtime.OutcomeSubmitted {
						t.Errorf("%d is %s", n, state)
					}
					sent = append(sent, text)
				}
				a.wantPrompts(t, sent)
			})
		}
	}
}

func (a *ledgerSession) kill(t *testing.T, id string, attempt int, text string) {
	t.Helper()
	dir := filepath.Dir(a.file)
	file := filepath.Join(dir, "text")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "deliver", dir, a.name, id, strconv.Itoa(attempt), file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pause(time.Duration(20+rand.IntN(200)) * time.Millisecond)
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // killed
}

// A person types while the deliverer is killed. The agent gets the line of the person alone, and the prompt
// after it.
func TestPersonTypesWhenTheDelivererIsKilled(t *testing.T) {
	t.Parallel()
	for steps := range 3 {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			a := beginAs(t, "", "--think 5ms")
			l, err := a.Session(t.Context(), "look at", a.name)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := l.Client.Attach(t.Context(), shim.AttachRequest{Cols: 120, Rows: 40})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() { // the output that a person sees; ends with the connection
				for {
					if _, err := shim.ReadAttachMessage(conn); err != nil {
						return
					}
				}
			}()
			text := textsOf("<a prompt>")[steps]
			a.deliverUntilDeath(t, "id", text, steps)
			for _, key := range "the person's\r" {
				if _, err := (shim.AttachMessage{Kind: shim.AttachInput, Payload: []byte(string(key))}).WriteTo(conn); err != nil {
					t.Fatal(err)
				}
			}
			a.wait(t, ledger.Prompt, 1)
			if r := a.sense(t, "any", func(runtime.Reading) bool { return true }); time.Since(r.LastInput) > time.Minute {
				t.Errorf("a person last typed at %v, says the reading of %v", r.LastInput, r.At)
			}
			if state := a.recovers(t, "id", text); state != runtime.OutcomeSubmitted {
				t.Errorf("the prompt is %s", state)
			}
			a.wantPrompts(t, []string{"the person's", text})
		})
	}
}

// An agent asks a question while the outcome of a text is determined whose deliverer was killed. The question
// can be answered.
func TestSettleDuringAQuestion(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"claude", ""} {
		t.Run("provider "+provider, func(t *testing.T) {
			t.Parallel()
			a := beginAs(t, provider, "")
			ask := "[[busy:4s]] [[ask:May I?|Yes|No]]" // longer than the steps before the question
			a.prompt(t, ask)
			a.deliverUntilDeath(t, "id", "a prompt", 2)
			a.sense(t, "asking", func(r runtime.Reading) bool { return r.Pending != nil })
			answered := make(chan error, 1)
			go func() {
				pause(time.Second)
				answered <- a.Respond(a.name, runtime.InteractionResponse{Action: runtime.ActionChoose, Text: "Yes"})
			}()
			if state := a.recovers(t, "id", "a prompt"); state != runtime.OutcomeSubmitted {
				t.Errorf("the prompt is %s", state)
			}
			if err := <-answered; err != nil {
				t.Error(err)
			}
			a.wantPrompts(t, []string{ask, "a prompt"})
		})
	}
}
