package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// TestADay takes a CLI through its life on a provider with a terminal: start, prompts of
// every size, a turn that is watched, one that is interrupted, words that mean something
// to a shell, a death and the stop. The model's log is the oracle of it all. GC_AGENTS_STEPS
// names the steps to take, for who looks into one of them.
func TestADay(t *testing.T) {
	together(t)
	providers := []string{"pty"}
	if setting("GC_AGENTS_TMUX", 0) > 0 {
		providers = append(providers, "tmux")
	}
	for _, name := range driven("claude", "pi", "codex", "gemini", "opencode") {
		for _, provider := range providers {
			t.Run(name+"/"+provider, func(t *testing.T) {
				together(t)
				day(t, name, provider)
			})
		}
	}
}

func day(t *testing.T, name, provider string) {
	began := time.Now()
	c := bed.Open(t, provider, bed.Member{Name: "a", CLI: name, City: guarded})
	a := of(t, c, "a")
	up := time.Since(began)
	const early = "Said as soon as gc start has returned"
	r := a.prompt(early, client.ReceiptConsumed)
	a.primed()
	if said := c.Model.Prompts("a"); len(said) < 2 {
		t.Errorf("%q is said to be %s by %s, and was not received yet: %+v", early, r.State, r.Evidence, r)
	}
	a.waitForPrompt(early)
	a.ready()
	if said := c.Model.Prompts("a"); len(said) != 2 || !a.isSamePrompt(said[1].Text, early) {
		t.Errorf("at the start the model received %+v", said)
	}
	in := where(provider)
	logFigure(t, a.found, "launch", "gc start returned after %.1f s; %.1f s after its start the first turn had ended%s", up.Seconds(), time.Since(began).Seconds(), in)
	only := os.Getenv("GC_AGENTS_STEPS")
	for _, step := range steps() {
		if only != "" && !slices.Contains(strings.Split(only, ","), step.name) {
			continue
		}
		ok := t.Run(step.name, func(t *testing.T) {
			a := of(t, c, "a")
			recordOnFailure(t, a.found, step.columns...)
			a.ready() // by its own report: a hook may have reported the end before
			step.do(a, in)
		})
		if !ok {
			return // what follows would prove nothing
		}
	}
	took := closed(of(t, c, "a"))
	logFigure(t, a.found, "stop", "no process of the agent was left %.1f s after gc stop%s", took.Seconds(), in)
}

type step struct {
	name    string
	do      func(*agent, string)
	columns []string // of the table, that it fills
}

// steps returns those of a day.
func steps() []step {
	all := []step{
		{"delivery", delivery, []string{"delivery"}},
		{"usage", usage, []string{"usage"}},
		{"interrupt", interrupt, []string{"interrupt"}},
		{"shell", shell, nil},
		{"command", command, nil},
		{"guard", guard, []string{"guard"}},
		{"state", state, []string{"state"}},
		{"spent", usage, []string{"usage"}},
		{"resume", resume, []string{"resume"}},
	}
	if os.Getenv("GC_TEST_AGENTS") != "" { // else test/e2e has done it with other agents
		all = append(all, step{"editor", edited, nil})
	}
	return all
}

// where says in a figure what is not the usual provider.
func where(provider string) string {
	if provider == "pty" {
		return ""
	}
	return " (on " + provider + ")"
}

// sizes are those of the prompts, in bytes.
var sizes = []int{60, 1 << 10, 10 << 10, 100 << 10}

// delivery sends prompts of every size: each reaches the model once, unchanged and alone,
// and its receipt says so (R1).
func delivery(a *agent, in string) {
	n := setting("GC_AGENTS_PROMPTS", 2)
	heardBefore := len(a.Model.Prompts(a.name))
	var told []string
	var want []string
	for _, size := range sizes {
		if size > 10<<10 && a.found.Name == "gemini" {
			told = append(told, bytes(size)+" is not for its terminal, which takes long to read it and may send it twice: see \"gemini by ACP\"")
			continue
		}
		var took []time.Duration
		pasted, named := 0, 0
		for i := range n {
			text := letter(fmt.Sprintf("%d-%d", size, i), size)
			want = append(want, text)
			began := time.Now()
			r := a.prompt(text, client.ReceiptConsumed)
			p, _ := a.waitForPrompt(text)
			took = append(took, p.At.Sub(began))
			if p.Pasted {
				pasted++
			}
			switch {
			case r.Evidence == "":
				a.t.Errorf("the receipt %s has no evidence: %+v", r.ID, r)
			case strings.HasPrefix(r.Evidence, "hook"):
				named++
			}
		}
		if named < n && slices.Contains([]string{"claude", "codex", "pi"}, a.found.Name) {
			a.t.Errorf("of %d prompts of %s, the CLI's hook has named %d", n, bytes(size), named)
		}
		told = append(told, fmt.Sprintf("%s %d of %d (%s%s)", bytes(size), n, n, spread(took), demoted(pasted, n)))
		a.t.Log(told[len(told)-1])
	}
	got := a.Model.Prompts(a.name)[heardBefore:]
	if len(got) != len(want) {
		a.t.Errorf("the model received %d prompts, %d were sent", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if !a.isSamePrompt(got[i].Text, want[i]) {
			a.t.Errorf("prompt %d is %.100q..., sent was %.100q...", i, got[i].Text, want[i])
		}
	}
	if a.untabs() {
		told = append(told, "a tab arrives as four spaces")
	}
	logFigure(a.t, a.found, "delivery", "%s%s", strings.Join(told, "; "), in)
}

func demoted(pasted, n int) string {
	if pasted == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %d sent to the model as pasted", pasted, n)
}

func bytes(n int) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// letter returns a prompt of the size with all that terminals and shells trip over.
func letter(name string, size int) string {
	const line = "the «quick» $HOME `fox` said \"it's; done\" \\ & 日本 😀 /etc/* #1 @you !x {a}\n\tindented: 100% [ok] "
	text := "Letter " + name + ": "
	for len(text) < size-20 {
		text += line[:min(len(line), len(line))]
	}
	text = strings.ToValidUTF8(text[:min(len(text), max(size-10, len(name)+10))], "")
	return strings.TrimRight(text, " \n\t") + " end." + name[:1]
}

// interrupt cuts a turn off: the model notices, and the next prompt comes alone (R11).
func interrupt(a *agent, in string) {
	var took []time.Duration
	for i, moment := range []string{"before a word", "in the middle"} {
		heard := len(a.Model.Prompts(a.name))
		text := fmt.Sprintf("Cut %d [[delay:60]]", i)
		if i == 1 {
			text = fmt.Sprintf("Cut %d [[slow:60]][[count:90]]", i)
		}
		a.prompt(text, client.ReceiptSubmitted)
		_, r := a.waitForPrompt(text)
		if i == 1 {
			a.shows("word-2")
		}
		began := time.Now()
		if out, err := a.Run(a.t.Context(), "interrupt", a.name); err != nil {
			a.fail("cannot be interrupted %s: %v\n%s", moment, err, out)
		}
		ctx, cancel := a.stepContext()
		if err := a.Model.Await(ctx, func(all []mockmodel.Request) bool { return all[r.N-1].Aborted }); err != nil {
			a.fail("the model did not see the interrupt %s: %v", moment, err)
		}
		cancel()
		took = append(took, a.Model.Requests()[r.N-1].Ended.Sub(began))
		next := fmt.Sprintf("After the cut %d", i)
		a.prompt(next, client.ReceiptConsumed)
		a.waitForPrompt(next)
		got := a.Model.Prompts(a.name)[heard:]
		if len(got) != 2 || !a.isSamePrompt(got[1].Text, next) {
			a.t.Errorf("after the interrupt %s the model received %+v", moment, got)
		}
	}
	a.escaped()
	logFigure(a.t, a.found, "interrupt", "interrupted before the first word of an answer and in the middle of one: the request was canceled after %s, and the next prompt arrived alone%s", spread(took), in)
}

// escaped has a person end a turn with Esc, which some CLIs' hooks do not report: the next
// prompt does not wait for the end of a turn that is over.
func (a *agent) escaped() {
	heard := len(a.Model.Prompts(a.name))
	const text = "A person ends this [[slow:60]][[count:900]]"
	a.prompt(text, client.ReceiptSubmitted)
	a.waitForPrompt(text)
	a.shows("word-60") // which no turn before has come to; before a word some give the prompt back, and it is the person's draft
	keys := []string{"keys", a.name, "Escape"}
	if a.found.Name == "opencode" {
		keys = append(keys, "Escape") // it asks for a second one
	}
	if out, err := a.Run(a.t.Context(), keys...); err != nil {
		a.fail("takes no key: %v\n%s", err, out)
	}
	const next = "After the person"
	pressed := time.Now()
	a.prompt(next, client.ReceiptConsumed)
	p, _ := a.waitForPrompt(next)
	a.t.Logf("the prompt behind a person's Esc is received %.2f s after it", p.At.Sub(pressed).Seconds())
	if got := a.Model.Prompts(a.name)[heard:]; len(got) != 2 || !a.isSamePrompt(got[1].Text, next) {
		a.t.Errorf("after a person's Esc the model received %+v", got)
	}
}

// shell sends what the CLI would take for something else than a prompt if it was typed: it
// reaches the model or is refused, and no shell runs it.
func shell(a *agent, _ string) {
	trap := filepath.Join(a.Homes[a.name].Work, "trap")
	for _, text := range []string{"!touch " + trap, "! touch " + trap + " # and more"} {
		ctx, cancel := a.stepContext()
		r, err := a.Client.Nudge(ctx, a.name, client.NudgeRequest{Text: text})
		if err == nil {
			r, err = a.Client.Receipt(ctx, r.ID, client.ReceiptConsumed)
		}
		taken := err == nil && (r.State == client.ReceiptConsumed || r.State == client.ReceiptSubmitted)
		heard := false
		if taken {
			heard = a.Model.Await(ctx, func([]mockmodel.Request) bool {
				return slices.ContainsFunc(a.Model.Prompts(a.name), func(p mockmodel.Prompt) bool { return strings.HasSuffix(p.Text, text) })
			}) == nil
		}
		a.t.Logf("%q: receipt %s (%s), received %v, %v", text, r.State, r.Reason, heard, err)
		if taken && !heard {
			a.t.Errorf("%q is said to be %s, and the model never received it", text, r.State)
		}
		cancel()
		if _, err := os.Stat(trap); err == nil {
			a.fail("%q ran as a shell command", text)
		}
	}
}

// command sends what is no prompt but a command that the CLI does not know: it is not said
// to be consumed unless the model hears it, and the next prompt comes alone.
func command(a *agent, _ string) {
	ctx, cancel := a.stepContext()
	defer cancel()
	const text = "/nonsense-9"
	heard := len(a.Model.Prompts(a.name))
	r, err := a.Client.Nudge(ctx, a.name, client.NudgeRequest{Text: text})
	if err == nil {
		r, err = a.Client.Receipt(ctx, r.ID, client.ReceiptConsumed)
	}
	a.t.Logf("%q: receipt %s (%s), evidence %s, %v", text, r.State, r.Reason, r.Evidence, err)
	const next = "After the command"
	a.prompt(next, client.ReceiptConsumed)
	a.waitForPrompt(next)
	got := a.Model.Prompts(a.name)[heard:]
	if !a.isSamePrompt(got[len(got)-1].Text, next) {
		a.t.Errorf("after %q the model received %+v", text, got)
	}
	if told := len(got) > 1; r.State == client.ReceiptConsumed && !told {
		a.t.Errorf("%q is said to be %s by %s, and the model never received it", text, r.State, r.Evidence)
	}
}

// resume kills the agent: it comes back in the same conversation (R8).
func resume(a *agent, in string) {
	a.prompt("Remember the word xylophone-7", client.ReceiptConsumed)
	a.ready()
	a.prompt("That is all for now", client.ReceiptConsumed) // a CLI writes a turn down a moment after its end
	a.ready()
	began := time.Now()
	a.killed()
	took := time.Since(began)
	a.prompt("What was the word?", client.ReceiptConsumed)
	_, r := a.waitForPrompt("What was the word?")
	a.guarded()
	if !slices.Contains(r.History, "Remember the word xylophone-7") {
		a.t.Errorf("the conversation began again: %.300q", r.History)
	}
	logFigure(a.t, a.found, "resume", "the same conversation %.1f s after a kill%s", took.Seconds(), in)
}

// guarded waits until the agent has shown that it asks before it uses a tool.
func (a *agent) guarded() {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	for {
		status, err := a.Client.Status(ctx)
		if err == nil && slices.ContainsFunc(status.Agents, func(s client.Agent) bool { return s.Name == a.name && s.Guard == "guarded" && s.Held == "" }) {
			return
		}
		if ctx.Err() != nil {
			a.fail("never is guarded: %v", err)
		}
		<-time.After(50 * time.Millisecond)
	}
}
