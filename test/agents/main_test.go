package agents

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
	"gascity/test/agents/figure"
	"gascity/test/agents/mockmodel"
)

func TestMain(m *testing.M) {
	code := m.Run()
	bed.RemoveBuild()
	os.Exit(code)
}

// figures is what this test process measures.
var figures notes

type notes struct {
	mu    sync.Mutex
	sheet figure.Sheet // guarded by mu
}

// logFigure keeps a figure and logs it.
func logFigure(t *testing.T, found bed.Installed, column, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	t.Logf("%s %s, %s: %s", found.Name, found.Version, column, text)
	if !t.Failed() {
		figures.set(t, found, column, text)
	}
}

// recordOnFailure says in the columns that the test has failed, if it fails.
func recordOnFailure(t *testing.T, found bed.Installed, columns ...string) {
	t.Helper()
	t.Cleanup(func() {
		for _, column := range columns {
			if t.Failed() {
				figures.set(t, found, column, "failed")
			}
		}
	})
}

// set keeps a figure, also in the file, for a run that is cut off.
func (n *notes) set(t *testing.T, found bed.Installed, column, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sheet == nil {
		n.sheet = figure.Sheet{}
	}
	n.sheet.Set(found.Name, found.Version, column, figure.Cell{Text: text, Day: time.Now().Format(time.DateOnly) + load()})
	if path := os.Getenv("GC_AGENTS_FIGURES"); path != "" {
		if err := n.sheet.Save(path); err != nil {
			t.Error(err)
		}
	}
}

// load returns the machine's, in words; empty where it is unknown.
func load() string {
	raw, _ := os.ReadFile("/proc/loadavg") // Linux has it
	one, _, found := strings.Cut(string(raw), " ")
	if !found {
		return ""
	}
	return ", load " + one
}

// TestInstall installs the CLIs of this run. Called before the others, it keeps the time that
// npm needs out of theirs.
func TestInstall(t *testing.T) {
	for _, c := range bed.CLIs() {
		if isWanted(c.Name) {
			t.Run(c.Name, func(t *testing.T) { bed.Need(t, c.Name) })
		}
	}
}

// driven returns the CLIs of this run that are among the given ones. A run of the newest versions
// leaves out a CLI that cannot be installed: TestInstall fails for it, and the others are tested.
func driven(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		return !isWanted(name) || bed.LacksNewest(context.Background(), name)
	})
}

// isWanted reports whether GC_TEST_AGENTS asks for the CLI.
func isWanted(name string) bool {
	wanted := []string{"claude", "pi", "codex-acp"}
	if list := os.Getenv("GC_TEST_AGENTS"); list != "" {
		wanted = strings.Split(list, ",")
	}
	return slices.Contains(wanted, name) || slices.Contains(wanted, "all")
}

// together lets a test run beside others, unless its figures are published.
func together(t *testing.T) {
	t.Helper()
	if os.Getenv("GC_AGENTS_FIGURES") == "" {
		t.Parallel()
	}
}

// setting returns a number from the environment.
func setting(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// agent is one agent of a city, as a test uses it.
type agent struct {
	*bed.City
	t     *testing.T
	name  string
	found bed.Installed
}

func of(t *testing.T, c *bed.City, name string) *agent {
	return &agent{City: c, t: t, name: name, found: c.Found[name]}
}

// stepContext bounds one step.
func (a *agent) stepContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(a.t.Context(), bed.StepTimeout)
}

// ready waits until the agent takes prompts and has answered its first prompt.
func (a *agent) ready() {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	if _, err := a.Client.Await(ctx, client.WaitRequest{Target: a.name, For: client.WaitIdle}); err != nil {
		a.fail("never was idle: %v", err)
	}
}

// fail ends the test with all that is known of the agent.
func (a *agent) fail(format string, args ...any) {
	a.t.Helper()
	ctx := a.t.Context()
	screen, _ := a.Client.Peek(ctx, a.name, 60)               // the test fails anyway
	session, _ := a.Client.Session(ctx, a.name)               // the same
	open, _ := a.Client.Pending(ctx, a.name, client.OnlyOpen) // the same
	events, _ := a.Client.PastEvents(ctx, 0)                  // the same
	if status, err := a.Client.Status(ctx); err == nil {
		for _, s := range status.Agents {
			if s.Name == a.name {
				session.Guard, session.Held = s.Guard+" "+s.GuardDetail, s.Held
			}
		}
	}
	var told []string
	for _, e := range events.Events {
		if e.Agent == a.name {
			told = append(told, e.Time.Format("05.000 ")+e.Kind+" "+e.Text)
		}
	}
	a.t.Fatalf("%s: %s\nstate %s, activity %+v, warning %q, held %q, guard %s, pending %+v\nevents:\n%s\nscreen:\n%s", a.name, fmt.Sprintf(format, args...),
		session.State, session.Activity, session.Warning, session.Held, session.Guard, open, strings.Join(told[max(0, len(told)-20):], "\n"), trimmed(screen.Text))
}

// trimmed leaves out empty rows.
func trimmed(screen string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(screen, "\n"), func(row string) bool { return strings.TrimSpace(row) == "" }), "\n")
}

// prompt sends a prompt and waits until the receipt has the state.
func (a *agent) prompt(text, state string) client.Receipt {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	r, err := a.Client.Nudge(ctx, a.name, client.NudgeRequest{Text: text})
	if err != nil {
		a.fail("takes no prompt: %v", err)
	}
	id := r.ID
	r, err = a.Client.Receipt(ctx, id, state)
	if err == nil && r.State == client.ReceiptUnconfirmed { // an unconfirmed state is no lie: the model's log decides
		a.waitForPrompt(text)
		a.t.Logf("the receipt of %d bytes is unconfirmed (%s), and the model has received them", len(text), r.Reason)
		return r
	}
	if err != nil || !slices.Contains([]string{client.ReceiptSubmitted, client.ReceiptConsumed}, r.State) {
		if err != nil {
			r, _ = a.Client.Receipt(a.t.Context(), id, "") // the test fails anyway
		}
		a.fail("the receipt of %d bytes is %s (%s), steps %+v: %v", len(text), r.State, r.Reason, r.Steps, err)
	}
	return r
}

// waitForPrompt waits for the prompt in the model's log, and returns the request that
// brought it.
func (a *agent) waitForPrompt(text string) (mockmodel.Prompt, mockmodel.Request) {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	var found mockmodel.Prompt
	err := a.Model.Await(ctx, func([]mockmodel.Request) bool {
		for _, p := range a.Model.Prompts(a.name) {
			if a.isSamePrompt(p.Text, text) {
				found = p
				return true
			}
		}
		return false
	})
	if err != nil {
		var got []string
		for _, p := range a.Model.Prompts(a.name) {
			got = append(got, fmt.Sprintf("%.200q", p.Text))
		}
		a.fail("the model never received %.100q: %v; it received:\n%s", text, err, strings.Join(got, "\n"))
	}
	return found, a.Model.Requests()[found.First-1]
}

// primed waits until the model has received the first prompt.
func (a *agent) primed() {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	if said, err := a.Model.AwaitPrompts(ctx, a.name, 1); err != nil || !strings.HasPrefix(said[0].Text, "[town] "+a.name) {
		a.fail("the model never received the first prompt: %v, %+v", err, said)
	}
}

// isSamePrompt compares a prompt with what reached the model. A space at the end is lost
// or added by some CLIs, and some draw tabs before they take them.
func (a *agent) isSamePrompt(got, want string) bool {
	if a.untabs() {
		want = strings.ReplaceAll(want, "\t", "    ")
	}
	return strings.TrimRight(got, " \n") == strings.TrimRight(want, " \n")
}

// untabs reports whether the CLI makes four spaces of a tab that is pasted.
func (a *agent) untabs() bool { return a.found.Name == "claude" }

// spread returns the middle and the greatest of durations.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(all))
	return fmt.Sprintf("p50 %.2f s, max %.2f s", sorted[len(sorted)/2].Seconds(), sorted[len(sorted)-1].Seconds())
}
