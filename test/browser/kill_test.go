package browser

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// killedCity is a city of one agent whose controller is to be killed.
type killedCity struct{ *realCity }

func newKilledCity(t *testing.T) killedCity {
	t.Helper()
	return killedCity{newRealCity(t, func(root string) string {
		return fmt.Sprintf("[[agents]]\nname = \"coder\"\nready_prompt_prefix = \"❯\"\nstart_command = \"exec %s --ledger %s\"\n", filepath.Join(root, "fakeagent"), filepath.Join(root, "ledger"))
	})}
}

func (c killedCity) ledger() string { return filepath.Join(c.root, "ledger") }

// choices returns what the agent got as answers to a question.
func (c killedCity) choices(question string) []string {
	c.t.Helper()
	text, err := os.ReadFile(c.ledger())
	if err != nil {
		c.t.Fatal(err)
	}
	records, _, err := ledger.Parse(text)
	if err != nil {
		c.t.Fatal(err)
	}
	var out []string
	for _, r := range records {
		if r.Kind == ledger.Choice && r.Dialog == question {
			out = append(out, r.Choice)
		}
	}
	return out
}

// open reports whether the city lists a question as open.
func (c killedCity) open(ctx context.Context, question string) bool {
	list, err := c.client.Pending(ctx, "", client.OnlyOpen)
	return err == nil && slices.ContainsFunc(list, func(p client.Pending) bool { return p.Prompt == question })
}

// A phone answers while the controller is killed, at random moments around the answer. The agent gets
// the answer exactly once: it counts, or the question is asked again. The page finds the next
// controller by itself, without a reload. GC_KILLS is the number of kills.
func TestControllerKilledWhileAPhoneAnswers(t *testing.T) {
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("GC_KILLS"), "4"))
	if err != nil {
		t.Fatal(err)
	}
	program(t)
	city := newKilledCity(t)
	link := city.link(client.ScopeAnswer)
	p := openTab(t, nil, phone)
	p.expect("ERR_")
	p.expect("/api/v1/")
	p.visit(link)
	get[bool](p, `window.sameTab = true`)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // moments
	t.Logf("seed %d", seed)
	again := 0
	for i := range kills {
		question := fmt.Sprintf("Round %d?", i)
		city.until("the agent runs and asks nothing", func(ctx context.Context) bool {
			status, err := city.client.Status(ctx)
			return err == nil && len(status.Agents) == 1 && status.Agents[0].State == client.StateRunning && status.Agents[0].Pending == 0
		})
		if _, err := city.client.Nudge(t.Context(), "coder", client.NudgeRequest{Text: "[[ask:" + question + "|yes|no]]"}); err != nil {
			t.Fatal(err)
		}
		card := fmt.Sprintf(`document.querySelector('[data-question]')?.innerText.includes(%q)`, question)
		p.until("the question is on the card", card)
		p.until("the page is live", `!!document.querySelector('.connection.is-live')`)
		p.tap("[data-question] .option", "yes")
		// The answer and the kill: up to 50 ms before, or up to 1.2 s after it.
		delay := time.Duration(random.IntN(1250)-50) * time.Millisecond
		killed := make(chan struct{})
		begin := time.AfterFunc(max(0, delay), func() {
			defer close(killed)
			_ = city.controller.Process.Kill() // the test sees below whether it ended
		})
		if delay < 0 {
			<-killed
		}
		get[bool](p, `(document.querySelector('[data-question] .send .primary')?.click(), true)`)
		<-killed
		begin.Stop()
		_ = city.controller.Wait() // it reports the signal
		p.until("the page sees that the connection is lost", `!!document.querySelector('.connection.is-lost')`)
		city.start()
		p.until("the page is live again by itself", `window.sameTab === true && !!document.querySelector('.connection.is-live')`)
		answered := false
		city.until("the answer counts, or the question is asked again", func(ctx context.Context) bool {
			answered = len(city.choices(question)) > 0
			return answered || city.open(ctx, question) && get[bool](p, card+` ?? false`)
		})
		if !answered {
			again++
			p.until("the card can be answered again", `!!document.querySelector('[data-question] .option:not([disabled])')`)
			get[bool](p, `(document.querySelector('[data-question] .option[aria-pressed=false]') && !document.querySelector('[data-question] .option[aria-pressed=true]') && document.querySelector('[data-question] .option').click(), true)`)
			p.until("the answer can be sent", `!!document.querySelector('[data-question] .send .primary:not([disabled])')`)
			get[bool](p, `(document.querySelector('[data-question] .send .primary').click(), true)`)
			city.until("the agent gets the answer", func(context.Context) bool { return len(city.choices(question)) > 0 })
		}
		p.until("the card is gone", fmt.Sprintf(`!document.querySelector('[data-question]')?.innerText.includes(%q)`, question))
		if got := city.choices(question); !slices.Equal(got, []string{"yes"}) {
			t.Errorf("kill %v after the answer %d: the agent got %q, want yes, once", delay, i, got)
		}
	}
	t.Logf("%d kills; %d questions were asked again", kills, again)
	for i := range kills {
		if got := city.choices(fmt.Sprintf("Round %d?", i)); !slices.Equal(got, []string{"yes"}) {
			t.Errorf("the agent got %q in round %d, want yes, once", got, i)
		}
	}
}
