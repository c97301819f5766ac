package inject

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/runtime"
	"gascity/test/terminal"
)

// standsStill lets an agent stand still again and again for some time, and go on in between.
func standsStill(agent *terminal.Agent, still, on time.Duration) {
	began := time.Now()
	slowBy(agent, func() time.Duration {
		if time.Since(began) > 40*time.Second {
			return 0
		}
		return max(0, still-time.Since(began)%(still+on))
	})
}

// stalls are programs that read at once, and that stand still for longer than a person's
// rest is.
var stalls = map[string][2]time.Duration{
	"reads at once": {0, time.Second}, "stands still": {4 * time.Second, 1500 * time.Millisecond},
}

// TestStarvedDeliverer stops a deliverer before each of its steps for longer than people's
// keys are kept back for it. A person presses a key then, or all the time. Not a key is
// lost, and no line is fused with another, whatever another deliverer has left.
func TestStarvedDeliverer(t *testing.T) {
	leaves := map[string]func(d *fakeLease, text string){
		"nothing": func(*fakeLease, string) {},
		"a text":  func(d *fakeLease, text string) { left(d, text) },
		"a text whose Enter was swallowed": func(d *fakeLease, text string) {
			left(d, text)
			_ = d.book.Send(InputSeen, nil) // it was; the agent did not take it
		},
		"a text that was taken": func(d *fakeLease, text string) {
			left(d, text)
			_ = d.Type(context.Background(), InputSeen, []byte("\r")) //nolint:forbidigo // it uses none
		},
	}
	for name, still := range stalls {
		for what, leave := range leaves {
			for starved := range 20 {
				for _, rest := range []time.Duration{0, 3500 * time.Millisecond} {
					t.Run(fmt.Sprintf("%s/%s/%s/%d", name, what, rest, starved), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							starve(t, round{still: still, leave: leave, rest: rest, starved: starved})
						})
					})
				}
			}
		}
	}
}

// left is what a deliverer leaves that died before Enter.
func left(d *fakeLease, text string) {
	d.book.Begin("left", []byte(text), []byte("\x15"))
	_ = d.Type(context.Background(), InputText, []byte("\x1b[200~"+text+"\x1b[201~")) //nolint:forbidigo // it uses none
}

type round struct {
	still   [2]time.Duration
	leave   func(d *fakeLease, text string)
	rest    time.Duration // between the first key of a line and the others
	starved int           // before which step
}

func starve(t *testing.T, r round) {
	agent := terminal.NewAgent(terminal.Face{Style: "rules"})
	standsStill(agent, r.still[0], r.still[1])
	d := newFakeLease(agent.T)
	const before = "<left>"
	r.leave(d, before)
	done := make(chan struct{})
	person := func() {
		defer close(done)
		for i, key := range strings.Split("one person\r", "") {
			if i == 1 {
				time.Sleep(r.rest)
			}
			d.person(key)
			time.Sleep(130 * time.Millisecond)
		}
	}
	steps := 0
	d.step = func() {
		if steps++; steps == r.starved+1 {
			go person()
			time.Sleep(2500 * time.Millisecond)
		}
	}
	text := "<a nudge>"
	out := deliverAtLast(t, d, text)
	if steps <= r.starved {
		go person()
	}
	<-done
	time.Sleep(5 * time.Second)
	if out.State == runtime.OutcomeRefused {
		t.Errorf("%+v", out)
	}
	got := slices.DeleteFunc(agent.Prompts(), func(text string) bool { return text == before })
	want := []string{text, "one person"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || agent.Line() != "" {
		t.Errorf("the agent took %q and holds %q, want %q", got, agent.Line(), want)
	}
}

// deliverAtLast delivers a text again for as long as it is refused. It ends unconfirmed
// where a person's keys hide what Enter did.
func deliverAtLast(t *testing.T, d *fakeLease, text string) (out runtime.Outcome) {
	rules, id := terminal.Face{Style: "rules"}.Rules(t), DeliveryID("", text)
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		out, err := Deliver(t.Context(), d, id, Prompt{Text: text}, rules)
		if out.State == runtime.OutcomeUnconfirmed {
			out, err = RetryUntilKnown(t.Context(), func() (runtime.Outcome, error) { return ResolveDelivery(t.Context(), d, id, rules) })
		}
		if err != nil {
			t.Fatal(err)
		}
		if out.State == runtime.OutcomeSubmitted || out.State == runtime.OutcomeUnconfirmed && out.Reason == "" {
			return out
		}
	}
	t.Error("it was refused for too long")
	return out
}
