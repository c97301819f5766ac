package browser

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/build"
)

// killedCity is a city of one real agent whose controller is a process, to be killed.
type killedCity struct {
	t          *testing.T
	root       string
	gc         string
	client     *client.Client
	controller *exec.Cmd
}

// newKilledCity builds gc, and starts a city and its web console.
func newKilledCity(t *testing.T) *killedCity {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "gcb-") //nolint:usetesting // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	c := &killedCity{t: t, root: root, gc: filepath.Join(t.TempDir(), "gc"), client: &client.Client{Root: root, Version: "dev"}}
	t.Cleanup(c.client.Close)
	if err := build.Program(c.gc, "gascity/cmd/gc"); err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(root, "fakeagent")
	if err := os.Symlink(c.gc, fake); err != nil {
		t.Fatal(err)
	}
	toml := fmt.Sprintf("[workspace]\nname = \"town\"\n[daemon]\nshutdown_timeout = \"1s\"\n[[agents]]\nname = \"coder\"\nready_prompt_prefix = \"❯\"\nstart_command = \"exec %s --ledger %s\"\n", fake, c.ledger())
	if err := os.WriteFile(filepath.Join(root, client.CityFile), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	t.Cleanup(c.stop)
	return c
}

func (c *killedCity) ledger() string { return filepath.Join(c.root, "ledger") }

// start starts the controller and returns when it answers.
func (c *killedCity) start() {
	c.t.Helper()
	c.controller = exec.Command(c.gc, "controller", "run", "--city", c.root)
	c.controller.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.root, "LANG=C.UTF-8"}
	if err := c.controller.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.until("the controller answers", func(ctx context.Context) bool {
		_, err := c.client.Status(ctx)
		return err == nil
	})
}

func (c *killedCity) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if _, err := c.client.StopCity(ctx); err != nil {
		c.t.Errorf("cannot stop the city: %v", err)
		_ = c.controller.Process.Kill() // the last resort
	}
	_ = c.controller.Wait()
}

func (c *killedCity) until(what string, is func(context.Context) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*patience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !is(ctx) {
		select {
		case <-again.C:
		case <-ctx.Done():
			c.t.Fatalf("it never holds that %s", what)
		}
	}
}

// choices returns what the agent got as answers to a question.
func (c *killedCity) choices(question string) []string {
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
func (c *killedCity) open(ctx context.Context, question string) bool {
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
	if _, err := city.client.StartWeb(t.Context(), client.WebRequest{Listen: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	code, err := city.client.NewWebCode(t.Context(), client.WebCodeRequest{Scope: client.ScopeAnswer})
	if err != nil {
		t.Fatal(err)
	}
	p := openTab(t, nil, phone)
	p.expect("ERR_")
	p.expect("/api/v1/")
	p.visit(code.Link)
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
