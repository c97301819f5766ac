package workertest_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/test/fakeagent/build"
	"gascity/worker"
	"gascity/worker/workertest"
)

// examples returns the complete workers of the repository.
func examples(t *testing.T) map[string][]string {
	t.Helper()
	dir := filepath.Join("..", "..", "examples", "worker")
	binary := filepath.Join(t.TempDir(), "worker")
	if err := build.Program(binary, "gascity/examples/worker/go"); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"go": {binary}, "python": {"python3", filepath.Join(dir, "python", "worker.py")}, "shell": {"sh", filepath.Join(dir, "shell", "worker.sh")},
	}
}

// TestTheExamplesKeepTheContract, each of them all of it.
func TestTheExamplesKeepTheContract(t *testing.T) {
	for name, argv := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, tool := range map[string][]string{"python": {"python3"}, "shell": {"curl", "jq"}}[name] {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s is not installed", tool)
				}
			}
			temporary := t.TempDir() // a worker that is killed leaves its files
			results, err := workertest.Check(t.Context(), workertest.Options{
				ToolPrompt: "run: git push --force", Patience: 2 * time.Minute,
				Command: func(ctx context.Context) *exec.Cmd {
					cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
					cmd.Env = append(cmd.Environ(), "TMPDIR="+temporary)
					cmd.Stderr = os.Stderr
					cmd.WaitDelay = time.Second
					return cmd
				},
			})
			if err != nil || len(results) < 20 {
				t.Errorf("%d cases, %v", len(results), err)
			}
			// They run no tools, and offer nothing but to take prompts.
			left := []string{"allowed", "interrupt", "context", "rotation", "health", "compact"}
			for _, r := range results {
				if r.Err != nil || r.Skipped != slices.Contains(left, r.ID) || r.Skipped != (r.Reason != "") {
					t.Errorf("%s: %s\n\tskipped: %t, %s, %v", r.ID, r.Sentence, r.Skipped, r.Reason, r.Err)
				}
			}
		})
	}
}

// TestWhatTheExamplesAnswer: they obey the decision, and print prompts as they are.
func TestWhatTheExamplesAnswer(t *testing.T) {
	for name, argv := range examples(t) {
		if _, err := exec.LookPath("jq"); err != nil && name == "shell" {
			continue
		}
		city, err := workertest.NewCity()
		if err != nil {
			t.Fatal(err)
		}
		city.Decide = func(c worker.Call) worker.Decision {
			return worker.Decision{Allowed: c.Tool == "Bash" && strings.Contains(string(c.Input), "git status"), Reason: "by rule"}
		}
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Env = append(cmd.Environ(), city.Env()...)
		for i, prompt := range []string{`say "hi" — ünïcode`, "run: git status", "run: git push"} {
			if err := city.Prompt("p"+string(rune('0'+i)), prompt); err != nil {
				t.Fatal(err)
			}
		}
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := city.Await(ctx, func(words []workertest.Word) bool { return strings.Contains(join(words), "/ack p2 consumed") }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			city.End()
		}()
		out, err := cmd.Output()
		want := "answer: say \"hi\" — ünïcode\nanswer: allowed: true by rule\nanswer: allowed: false by rule\n"
		if err != nil || !strings.EqualFold(string(out), want) {
			t.Errorf("%s printed %q, %v; want %q", name, out, err, want)
		}
		if err := city.Close(); err != nil {
			t.Error(err)
		}
	}
}

func join(words []workertest.Word) string {
	var out []string
	for _, w := range words {
		out = append(out, w.String())
	}
	return strings.Join(out, "\n")
}

// TestTheExamplesDenyWithoutTheCity: it is gone when they ask, and they answer no before
// it is there again; their reports wait for it.
func TestTheExamplesDenyWithoutTheCity(t *testing.T) {
	for name, argv := range examples(t) {
		if _, err := exec.LookPath("jq"); err != nil && name == "shell" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			city, err := workertest.NewCity()
			if err != nil {
				t.Fatal(err)
			}
			gone := make(chan error, 1)
			city.Decide = func(worker.Call) worker.Decision {
				go func() { gone <- city.Down() }()
				<-ctx.Done() // it never answers
				return worker.Decision{Allowed: true, Effect: worker.Allow}
			}
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			cmd.Env = append(cmd.Environ(), city.Env()...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(cmd.Start(), city.Prompt("p1", "run: rm -rf /")); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || !strings.HasPrefix(strings.ToLower(line), "answer: allowed: false") {
				t.Errorf("without the city it says %q, %v; must deny", line, err)
			}
			select {
			case err := <-gone:
				if err != nil {
					t.Error(err)
				}
			default:
				t.Error("it answers while the city is there, and has not answered")
			}
			if err := city.Up(ctx); err != nil {
				t.Fatal(err)
			}
			if err := city.Await(ctx, func(words []workertest.Word) bool { return strings.Contains(join(words), "/ack p1 consumed") }); err != nil {
				t.Error(err)
			}
			cancel()
			_ = cmd.Wait() // it was ended
			if err := city.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// broken is for each promise what a worker does that breaks it.
func broken() map[string][]string {
	return map[string][]string{
		"started": {"unready"}, "speaks": {"misnames"}, "states": {"stays busy"}, "prompts": {"twice"}, "repeated": {"forgets"},
		"reconnects": {"leaves"}, "gap": {"stumbles"}, "restarted": {"dies"}, "unknown": {"takes"}, "newer": {"strict"}, "canary": {"unproved"},
		"asks": {"acts"}, "denied": {"disobeys"}, "allowed": {"refuses"}, "fails-closed": {"trusts", "disobeys"}, "interrupt": {"ignores"}, "context": {"invents"},
		"rotation": {"clings"}, "health": {"silent"}, "compact": {"bloats"}, "fenced": {"lingers"}, "ends": {"lingers"},
	}
}

func check(t *testing.T, breaks string, o workertest.Options) []workertest.Result {
	t.Helper()
	o.ToolPrompt, o.LongPrompt = "touch "+workertest.FileMark, "sleep"
	o.Command = func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), "WORKERTEST_BREAKS="+breaks)
		return cmd
	}
	results, err := workertest.Check(t.Context(), o)
	if err != nil {
		t.Error(err)
	}
	return results
}

// TestAWorkerThatKeepsAll: nothing is left out.
func TestAWorkerThatKeepsAll(t *testing.T) {
	t.Parallel()
	breaks := broken()
	for _, r := range check(t, "nothing", workertest.Options{}) {
		if r.Err != nil || r.Skipped {
			t.Errorf("%s: %s\n\tskipped: %t %s, %v", r.ID, r.Sentence, r.Skipped, r.Reason, r.Err)
		}
		if len(breaks[r.ID]) == 0 {
			t.Errorf("%s: no worker breaks it", r.ID)
		}
	}
}

// TestABadWorkerIsFound: each promise is broken by one, and found by its case.
func TestABadWorkerIsFound(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup // most are found by waiting: all at once
	for id, ways := range broken() {
		for _, breaks := range ways {
			all.Go(func() {
				for _, r := range check(t, breaks, workertest.Options{Patience: 5 * time.Second, Only: []string{id}}) {
					t.Logf("%s: %s: %.300v", id, breaks, r.Err)
					if r.Err == nil {
						t.Errorf("a worker that %s passes %s: %s", breaks, r.ID, r.Sentence)
					}
				}
			})
		}
	}
	all.Wait()
}
