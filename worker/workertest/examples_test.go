package workertest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/worker"
	"gascity/worker/workertest"
)

// examples are the complete workers of the repository.
func examples(t *testing.T) map[string][]string {
	t.Helper()
	dir := filepath.Join("..", "..", "examples", "worker")
	binary := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+filepath.Join(dir, "go")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
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
			results := workertest.Check(t.Context(), workertest.Options{
				ToolPrompt: "run: git push --force",
				Command: func(ctx context.Context) *exec.Cmd {
					cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
					cmd.Stderr = os.Stderr
					cmd.WaitDelay = time.Second
					return cmd
				},
			})
			if len(results) < 8 {
				t.Errorf("%d cases", len(results))
			}
			for _, r := range results {
				if r.Err != nil || r.Skipped {
					t.Errorf("%s: %s\n\tskipped: %t, %v", r.ID, r.Sentence, r.Skipped, r.Err)
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

// TestABadWorkerIsFound: each promise is broken by one, and found by its case.
func TestABadWorkerIsFound(t *testing.T) {
	if os.Getenv("WORKERTEST_BREAKS") != "" {
		t.Skip("a bad worker runs")
	}
	for id, breaks := range map[string]string{"prompts": "twice", "repeated": "forgets", "unknown": "takes", "asks": "acts", "ends": "lingers", "restarted": "dies"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			for _, r := range workertest.Check(t.Context(), workertest.Options{
				ToolPrompt: "run: x", Patience: 3 * time.Second, Only: []string{id},
				Command: func(ctx context.Context) *exec.Cmd {
					cmd := exec.CommandContext(ctx, os.Args[0])
					cmd.Env = append(os.Environ(), "WORKERTEST_BREAKS="+breaks)
					return cmd
				},
			}) {
				if r.ID == id && r.Err == nil {
					t.Errorf("a worker that %s passes %s: %s", breaks, r.ID, r.Sentence)
				}
			}
		})
	}
}
