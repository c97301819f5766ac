package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

// told is the time limit for a question to be listed and people to be notified.
const told = 2 * time.Second

// block is one way in which an agent is blocked, and how it must be shown.
type block struct {
	name, prompt string // the agent, and what makes it ask
	flags, toml  string
	kind, source string
	text         string
	options      []string
	tool, input  string
	answer       client.RespondRequest // none: it can only be answered at the terminal
	choice       string                // what the ledger holds after the answer
}

const claude = `provider = "claude"`

// odd are texts that must arrive unchanged.
const odd = `Drop «café» & "日本" -- 100 % of /srv/$HOME/*?`

func report(kind, words string) string {
	return fmt.Sprintf("[[osc:7501;status=blocked;kind=%s;msg=%s]][[busy:1h]]", kind, base64.StdEncoding.EncodeToString([]byte(words)))
}

// blocks are all kinds, by the screen alone and by the program's own report.
var blocks = []block{
	{
		name: "screen-permission", prompt: "[[permit:Bash|rm -rf ./büro 'x y']]", toml: claude, kind: "permission", source: "screen",
		text: "Bash command\n\n  rm -rf ./büro 'x y'\n\nDo you want to proceed?", tool: "Bash", input: "rm -rf ./büro 'x y'",
		options: []string{"Yes", "Yes, and always allow rm -rf ./büro 'x y' in this project", "No"},
		answer:  client.RespondRequest{Option: "No"}, choice: "No",
	},
	{
		name: "screen-menu", prompt: "[[ask:" + odd + "|Yes, all of it|No (stop)|Später]]", toml: claude, kind: "menu", source: "screen",
		text: odd, options: []string{"Yes, all of it", "No (stop)", "Später"},
		answer: client.RespondRequest{Option: "Später"}, choice: "Später",
	},
	{
		name: "screen-login", prompt: "[[ask:Select login method:|Account with a subscription|Console account]]", toml: claude, kind: "login", source: "screen",
		text: "Select login method:", options: []string{"Account with a subscription", "Console account"},
		answer: client.RespondRequest{Option: "2"}, choice: "Console account",
	},
	{
		name: "screen-limit", prompt: "[[ask:You've hit your limit. What do you want to do?|Upgrade your plan|Stop and wait for limit to reset]]", toml: claude,
		kind: "limit", source: "screen", text: "You've hit your limit. What do you want to do?",
		options: []string{"Upgrade your plan", "Stop and wait for limit to reset"},
		answer:  client.RespondRequest{Option: "Stop and wait for limit to reset"}, choice: "Stop and wait for limit to reset",
	},
	{
		name: "told-permission", prompt: "[[permit:Fetch|https://example.invalid/?a=1&b=2|Allow once|Never]]", flags: "--osc7501", kind: "permission", source: "screen",
		text: "Fetch command\n\n  https://example.invalid/?a=1&b=2\n\nDo you want to proceed?", options: []string{"Allow once", "Never"},
		answer: client.RespondRequest{Option: "1"}, choice: "Allow once",
	},
	{
		name: "told-question", prompt: "[[reply:" + odd + "]]", flags: "--osc7501", kind: "question", source: "osc7501",
		text: odd, answer: client.RespondRequest{Text: "the other «branch» 日本"}, choice: "the other «branch» 日本",
	},
	{name: "told-menu", prompt: report("dialog", odd), flags: "--osc7501", kind: "menu", source: "osc7501", text: odd},
	{
		name: "told-login", prompt: report("auth", "Log in at https://example.invalid/ab?c=d&e"), flags: "--osc7501", kind: "login", source: "osc7501",
		text: "Log in at https://example.invalid/ab?c=d&e", options: []string{"try the next prompt now"},
	},
}

// TestEveryBlockIsReported raises each kind of question by the screen and by the
// agent's report. It is listed and reported within 2 s, byte for byte, once for each
// episode, and ends by an answer, at the terminal and by a crash.
func TestEveryBlockIsReported(t *testing.T) {
	t.Parallel()
	members := make([]member, 0, len(blocks))
	for _, b := range blocks {
		members = append(members, member{name: b.name, flags: b.flags, toml: b.toml})
	}
	c := newCityOf(t, `on_pending = "date +%s.%N > told-$GC_PENDING_ID.tmp; cat >> told-$GC_PENDING_ID.tmp; mv -n told-$GC_PENDING_ID.tmp told-$GC_PENDING_ID || echo again >> told-$GC_PENDING_ID"`+"\n", members)
	c.start()
	c.await("running", running)
	delays := &delays{}
	var group sync.WaitGroup
	for i := range blocks {
		group.Go(func() { c.blocked(t, &blocks[i], delays) })
	}
	group.Wait()
	delays.report(t)
	c.oneAlertEach(t)
	c.stop()
}

// blocked runs three episodes with one agent.
func (c *city) blocked(t *testing.T, b *block, d *delays) {
	if b.choice != "" {
		p := c.raise(t, b, d)
		c.answerOnce(t, b, p)
		c.ends(t, p.ID, client.PendingAnswered)
		if records := c.records(t, b.name); !slices.ContainsFunc(ledger.Of(records, ledger.Choice), func(r ledger.Record) bool { return r.Choice == b.choice }) {
			t.Errorf("%s: the agent never got %q: %+v", b.name, b.choice, ledger.Of(records, ledger.Choice))
		}
	}
	c.unlimit(t, b)
	p := c.raise(t, b, d)
	keys := client.KeysRequest{Keys: []string{"Escape"}}
	if len(b.options) > 0 && b.choice != "" {
		keys.Keys = []string{"Enter"}
	}
	if _, err := c.client.Keys(t.Context(), b.name, keys); err != nil {
		t.Errorf("%s: cannot press keys: %v", b.name, err)
	}
	c.ends(t, p.ID, client.PendingResolved)
	c.unlimit(t, b)
	p = c.raise(t, b, d)
	if s, err := c.client.Session(t.Context(), b.name); err != nil || s.PID == 0 {
		t.Errorf("%s has no process: %v", b.name, err)
	} else if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	c.ends(t, p.ID, client.PendingGone)
	if _, err := c.client.Respond(t.Context(), p.ID, client.RespondRequest{Option: "1"}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("%s: the question of a dead instance takes an answer: %v", b.name, err)
	}
}

// unlimit starts a new instance of an agent that has reported a limit, because such an agent gets no prompts.
func (c *city) unlimit(t *testing.T, b *block) {
	t.Helper()
	if b.kind != "limit" {
		return
	}
	if _, err := c.client.Restart(t.Context(), b.name); err != nil {
		t.Error(err)
	}
	c.awaitAgent(b.name, client.StateRunning)
}

// raise makes the agent ask, and compares what is listed with what it asks.
func (c *city) raise(t *testing.T, b *block, d *delays) client.Pending {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	before := len(ledger.Prompts(c.records(t, b.name)))
	if _, err := c.client.Nudge(ctx, b.name, client.NudgeRequest{Text: b.prompt}); err != nil {
		t.Errorf("%s: %v", b.name, err)
	}
	records, err := ledgertest.Wait(ctx, c.ledgerOf(b.name), func(records []ledger.Record) bool {
		prompts := ledger.Prompts(records)
		last := records[max(0, len(records)-1):]
		return len(prompts) > before && (last[0].Kind == ledger.Asked || strings.Contains(b.prompt, "[[osc:") && last[0].Kind == ledger.Prompt)
	})
	if err != nil {
		t.Errorf("%s never asked: %v", b.name, err)
		return client.Pending{}
	}
	asked := records[len(records)-1].Time
	for {
		open, err := c.client.Pending(ctx, b.name, client.OnlyOpen)
		seen := time.Since(asked)
		if len(open) == 1 {
			d.add(&d.listed, seen)
			want := client.Pending{Kind: b.kind, Source: b.source, Prompt: b.text, Options: b.options, Tool: b.tool, Input: b.input}
			got := client.Pending{Kind: open[0].Kind, Source: open[0].Source, Prompt: open[0].Prompt, Options: open[0].Options, Tool: open[0].Tool, Input: open[0].Input}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s is listed otherwise than it asked (-asked +listed):\n%s", b.name, diff)
			}
			c.alert(ctx, t, open[0], asked, d)
			return open[0]
		}
		if len(open) > 1 || ctx.Err() != nil {
			t.Errorf("%s: listed are %+v (%v)", b.name, open, err)
			return client.Pending{}
		}
		pause(5 * time.Millisecond)
	}
}

// alert waits for the notifier, whose file holds when it ran and the question.
func (c *city) alert(ctx context.Context, t *testing.T, p client.Pending, asked time.Time, d *delays) {
	t.Helper()
	for {
		text, err := os.ReadFile(filepath.Join(c.root, "told-"+p.ID))
		if err == nil {
			at, body, _ := strings.Cut(string(text), "\n")
			var seconds float64
			var said client.Pending
			if _, err := fmt.Sscan(at, &seconds); err != nil {
				t.Errorf("the notifier wrote %q: %v", text, err)
				return
			}
			if err := json.Unmarshal([]byte(body), &said); err != nil || said.ID != p.ID || said.Prompt != p.Prompt || !slices.Equal(said.Options, p.Options) {
				t.Errorf("the notifier received %q: %v", body, err)
			}
			d.add(&d.alerted, time.Duration(seconds*float64(time.Second))-time.Duration(asked.UnixNano()))
			return
		}
		if ctx.Err() != nil {
			t.Errorf("%+v was not reported", p)
			return
		}
		pause(5 * time.Millisecond)
	}
}

// answerOnce answers with several calls at once. Exactly one must succeed.
func (c *city) answerOnce(t *testing.T, b *block, p client.Pending) {
	t.Helper()
	const people = 6
	var group sync.WaitGroup
	errs := make([]error, people)
	for i := range people {
		group.Go(func() {
			req := b.answer
			req.By = fmt.Sprintf("person %d", i)
			_, errs[i] = c.client.Respond(t.Context(), p.ID, req)
		})
	}
	group.Wait()
	taken := 0
	for _, err := range errs {
		if err == nil {
			taken++
		} else if !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s: an answer gives %v", b.name, err)
		}
	}
	if taken != 1 {
		t.Errorf("%s: %d of %d answers were taken: %v", b.name, taken, people, errs)
	}
	if _, err := c.client.Respond(t.Context(), p.ID, b.answer); !errors.Is(err, client.ErrRefused) {
		t.Errorf("%s: answering twice gives %v, want a refusal", b.name, err)
	}
}

// ends waits for the end of a question.
func (c *city) ends(t *testing.T, id, state string) client.Pending {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for {
		all, err := c.client.Pending(ctx, "", client.WithEnded)
		for _, p := range all {
			if p.ID == id && p.State != client.PendingOpen {
				if p.State != state {
					t.Errorf("the question of %s became %s, want %s: %+v", p.Agent, p.State, state, p)
				}
				return p
			}
		}
		if ctx.Err() != nil {
			t.Errorf("question %s never was %s (%v): %+v", id, state, err, all)
			return client.Pending{}
		}
		pause(5 * time.Millisecond)
	}
}

// oneAlertEach compares the episodes with the alerts and the events.
func (c *city) oneAlertEach(t *testing.T) {
	t.Helper()
	all, err := c.client.Pending(t.Context(), "", client.WithEnded)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(c.root, "told-*"))
	if err != nil || len(files) != len(all) {
		t.Errorf("%d episodes and %d alerts: %v", len(all), len(files), files)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || strings.HasSuffix(string(text), "again\n") {
			t.Errorf("%s was reported twice: %v", file, err)
		}
	}
	events, err := c.client.PastEvents(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	raised := map[string]int{}
	for _, e := range events.Events {
		if e.Kind == "pending.raised" {
			raised[e.Data["id"]]++
		}
	}
	for _, p := range all {
		if raised[p.ID] != 1 {
			t.Errorf("the episode %s of %s was raised %d times", p.ID, p.Agent, raised[p.ID])
		}
	}
	t.Logf("%d episodes, %d alerts", len(all), len(files))
}

// delays are how long it took until questions were listed and reported.
type delays struct {
	mu              sync.Mutex
	listed, alerted []time.Duration
}

func (d *delays) add(to *[]time.Duration, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*to = append(*to, took)
}

func (d *delays) report(t *testing.T) {
	t.Helper()
	for what, times := range map[string][]time.Duration{"listed": d.listed, "told": d.alerted} {
		if len(times) == 0 {
			t.Errorf("no question was %s", what)
			continue
		}
		slices.Sort(times)
		worst := times[len(times)-1]
		t.Logf("%d questions %s: median %v, worst %v", len(times), what, times[len(times)/2].Round(time.Millisecond), worst.Round(time.Millisecond))
		if worst > told {
			t.Errorf("a question was %s after %v, budget %v", what, worst, told)
		}
	}
}

// records reads an agent's ledger; one that does not exist yet is empty.
func (c *city) records(t *testing.T, agent string) []ledger.Record {
	t.Helper()
	records, err := ledger.Read(c.ledgerOf(agent))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	return records
}

// TestUnansweredQuestionsAreDenied raises questions without an answer. The policy denies them at the
// deadline, and the record has the reason.
func TestUnansweredQuestionsAreDenied(t *testing.T) {
	t.Parallel()
	const policy = "\n[agents.pending]\npolicy = \"deny\"\nafter = \"2s\""
	c := newCityOf(t, "", []member{{name: "drawn", toml: claude + policy}, {name: "reports", flags: "--osc7501", toml: policy}})
	c.start()
	c.await("running", running)
	var group sync.WaitGroup
	for _, agent := range []string{"drawn", "reports"} {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			nudge(t, c, agent, "[[permit:Bash|make deploy]]")
			records, err := ledgertest.Wait(ctx, c.ledgerOf(agent), ledgertest.Has(ledger.Choice, 1))
			if err != nil {
				t.Errorf("%s waits for ever: %v", agent, err)
				return
			}
			asked, choice := ledger.Of(records, ledger.Asked)[0], ledger.Of(records, ledger.Choice)[0]
			t.Logf("%s: denied after %v", agent, choice.Time.Sub(asked.Time).Round(time.Millisecond))
			if choice.Choice != "No" {
				t.Errorf("%s was answered with %q, want a refusal", agent, choice.Choice)
			}
			if early := choice.Time.Sub(asked.Time); early < 2*time.Second {
				t.Errorf("%s was denied after %v, before its time", agent, early)
			}
			all, err := c.client.Pending(ctx, agent, client.WithEnded)
			if err != nil || len(all) != 1 {
				t.Errorf("%s has %d episodes: %v", agent, len(all), err)
				return
			}
			p := c.ends(t, all[0].ID, client.PendingExpired)
			if p.Policy != "deny" || p.AnsweredBy != "policy" || p.Answer != "denied" {
				t.Errorf("the record of %s is %+v, want it denied by the policy", agent, p)
			}
			if _, err := c.client.Respond(ctx, p.ID, client.RespondRequest{Option: "Yes"}); !errors.Is(err, client.ErrRefused) {
				t.Errorf("%s takes an answer after the deadline: %v", agent, err)
			}
			explained, err := c.client.Explain(ctx, agent)
			if text, _ := json.Marshal(explained.Recent); err != nil || !strings.Contains(string(text), "the question of "+agent+" was not answered in time") {
				t.Errorf("the explanation of %s does not say that no answer arrived: %v\n%s", agent, err, text)
			}
		})
	}
	group.Wait()
	c.stop()
}
