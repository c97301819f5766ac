package agents

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
)

// TestACityAtWork has agents of several kinds do a job of many turns, each with a tool
// that leaves a trace, while the controller is killed -9 again and again: every prompt
// reaches its model once and in order, its tool has run once, and every receipt says so.
func TestACityAtWork(t *testing.T) {
	if len(driven("codex")) == 0 {
		t.Skip("the city at work is asked for by GC_TEST_AGENTS")
	}
	if len(driven("claude", "pi", "codex-acp")) < 3 {
		t.Skip("it needs claude, pi and codex-acp beside codex")
	}
	n := setting("GC_AGENTS_JOBS", 20)
	began := time.Now()
	c := bed.Open(t, "auto",
		bed.Member{Name: "claude", CLI: "claude", City: "[session.auto]\ndefault = \"pty\"\n" + speaking},
		bed.Member{Name: "codex", CLI: "codex"},
		bed.Member{Name: "pi", CLI: "pi"},
		bed.Member{Name: "speaker", CLI: "codex-acp", Profile: "speaker", TOML: `session = "acp"`},
	)
	names := []string{"claude", "codex", "pi", "speaker"}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, name := range names { // jobs are for who is there
		recordOnFailure(t, c.Found[name], "long job")
		of(t, c, name).ready()
	}
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() { work(ctx, of(t, c, name), n) })
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	kills := disturb(of(t, c, "claude"), over)
	blocked := map[string]int{}
	for _, name := range names {
		blocked[name] = reconcile(of(t, c, name), n)
	}
	t.Logf("%d turns of %d agents in %.0f s, the controller was killed %d times", n*len(names), len(names), time.Since(began).Seconds(), kills)
	if kills == 0 {
		t.Error("the controller was never killed")
	}
	for _, name := range names {
		a := of(t, c, name)
		logFigure(t, a.found, "long job", "%d prompts arrived once and in order, and each tool ran once, except %d that were blocked while no controller ran; beside 3 other agents, with %d kills of the controller by kill -9", n, blocked[name], kills)
	}
	closed(of(t, c, "claude"))
}

// speaking is the profile of the agent that speaks ACP. Its sandbox needs bubblewrap.
const speaking = `[providers.speaker]
base = "builtin:codex"
acp_args = ["-c", "sandbox_mode=\"danger-full-access\"", "-c", "approval_policy=\"never\""]
`

// job returns the text of one prompt.
func job(name string, i int) string {
	return fmt.Sprintf("Job %d of %s. [[tool:echo %d >> done]][[text:job %d is done]]", i, name, i, i)
}

// work gives an agent its jobs, one after the other. What the controller's end leaves
// open is asked again: a prompt's key makes it one.
func work(ctx context.Context, a *agent, n int) {
	for i := range n {
		for ctx.Err() == nil {
			try, cancel := context.WithTimeout(ctx, 30*time.Second)
			r, err := a.Client.Nudge(try, a.name, client.NudgeRequest{Text: job(a.name, i), Key: fmt.Sprintf("%s-%d", a.name, i)})
			if err == nil {
				r, err = a.Client.Receipt(try, r.ID, client.ReceiptConsumed)
			}
			cancel()
			if err == nil && r.State == client.ReceiptConsumed {
				break
			}
			if err == nil && !slices.Contains([]string{client.ReceiptAccepted, client.ReceiptSubmitted, "queued", "delivering", "claimed"}, r.State) {
				a.t.Errorf("%s: job %d is %s (%s)", a.name, i, r.State, r.Reason)
				break
			}
			<-time.After(50 * time.Millisecond)
		}
	}
}

// disturb kills the controller and starts it again until the work is over, and returns
// how often.
func disturb(a *agent, over <-chan struct{}) (kills int) {
	for {
		select {
		case <-over:
			return kills
		case <-time.After(3*time.Second + rand.N(5*time.Second)):
		}
		a.killController()
		if out, err := a.Run(a.t.Context(), "start"); err != nil {
			a.t.Errorf("the city does not come back: %v\n%s", err, out)
			return kills
		}
		kills++
	}
}

// reconcile compares an agent's prompts and traces with its jobs. A tool that was called
// while no controller ran is blocked, and its model sees that.
func reconcile(a *agent, n int) (blocked int) {
	a.t.Helper()
	var want, got []string
	for i := range n {
		want = append(want, job(a.name, i))
	}
	for _, p := range a.Model.Prompts(a.name) {
		if strings.HasPrefix(p.Text, "Job ") {
			got = append(got, p.Text)
		}
	}
	if !slices.Equal(got, want) {
		a.t.Errorf("%s: the model received %d prompts of %d: %q", a.name, len(got), n, got)
	}
	raw, err := os.ReadFile(filepath.Join(a.Homes[a.name].Work, "done"))
	traces := strings.Fields(string(raw))
	if err != nil || !slices.IsSorted(traces) && n <= 10 || len(slices.Compact(slices.Clone(traces))) != len(traces) {
		a.t.Errorf("%s: the tools have left %q: %v", a.name, traces, err)
	}
	for i := range n {
		if slices.Contains(traces, fmt.Sprint(i)) {
			continue
		}
		if blocked++; !a.isBlockReported(job(a.name, i)) {
			a.t.Errorf("%s: the tool of job %d has not run, and the model did not see that it was blocked: %q", a.name, i, a.toolOutputs(job(a.name, i)))
		}
	}
	return blocked
}

// isBlockReported reports whether the model saw that the tool of a prompt was kept from
// running.
func (a *agent) isBlockReported(text string) bool {
	told := strings.Join(a.toolOutputs(text), "\n")
	return strings.Contains(told, "hook") || strings.Contains(told, "not authorized")
}

// toolOutputs returns what the model saw of the tools of a prompt.
func (a *agent) toolOutputs(text string) (told []string) {
	for _, r := range a.Model.Requests() {
		if r.Caller == a.name && len(r.History) > 0 && strings.Contains(r.History[len(r.History)-1], text) {
			told = append(told, fmt.Sprintf("%d calls, then %.200q", len(r.Calls), r.Results))
		}
	}
	return told
}
