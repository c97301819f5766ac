package workerapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/run"
	"gascity/internal/workerapi"
	"gascity/worker"
)

// oneRun is a city with a single run: it sends what it is given and keeps what it is
// told.
type oneRun struct {
	mu      sync.Mutex
	told    []string
	changed chan struct{}
	send    chan run.Item
}

const (
	theRun   = "run-1"
	theToken = "token-1"
)

func (c *oneRun) tell(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, fmt.Sprintf(format, args...))
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until something was told.
func (c *oneRun) await(t *testing.T, text string) {
	t.Helper()
	end := time.After(20 * time.Second)
	for {
		c.mu.Lock()
		told, changed := strings.Join(c.told, "\n"), c.changed
		c.mu.Unlock()
		if strings.Contains(told, text) {
			return
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("%q was not told; what was:\n%s", text, told)
		}
	}
}

func (c *oneRun) Authenticate(token string) (run.Caller, error) {
	if token != theToken {
		return run.Caller{}, worker.ErrUnauthorized
	}
	return run.Caller{Run: theRun}, nil
}

func (c *oneRun) Lifecycle(_ context.Context, _ string, r worker.Lifecycle) (worker.LifecycleAnswer, error) {
	c.tell("lifecycle %s %s", r.Event, r.Metadata.PromptID)
	return worker.LifecycleAnswer{Accepted: true}, nil
}

func (c *oneRun) Telemetry(context.Context, string, worker.Telemetry) (worker.TelemetryAnswer, error) {
	return worker.TelemetryAnswer{}, nil
}

func (c *oneRun) Interaction(context.Context, string, worker.Interaction) (worker.InteractionAnswer, error) {
	return worker.InteractionAnswer{}, nil
}

func (c *oneRun) ReportHealth(context.Context, string, worker.Health) error { return nil }

func (c *oneRun) Ack(_ context.Context, _ string, a worker.Ack) error {
	c.tell("ack %s %s", a.ID, a.State)
	return nil
}

func (c *oneRun) Prompt(context.Context, worker.Prompt, worker.Progress) (worker.PromptAnswer, error) {
	return worker.PromptAnswer{}, nil
}

func (c *oneRun) Context(context.Context, worker.Context) (worker.ContextAnswer, error) {
	return worker.ContextAnswer{}, nil
}

func (c *oneRun) Identity(context.Context, worker.Identity) (worker.IdentityAnswer, error) {
	return worker.IdentityAnswer{}, nil
}

func (c *oneRun) Interrupt(context.Context, worker.Interrupt) (worker.InterruptAnswer, error) {
	return worker.InterruptAnswer{}, nil
}

func (c *oneRun) Health(context.Context, string) (worker.Health, error) { return worker.Health{}, nil }

func (c *oneRun) Authorize(_ context.Context, _ string, call worker.Call) (worker.Decision, error) {
	c.tell("authorize %s %s", call.Tool, strings.ReplaceAll(string(call.Input), `": "`, `":"`))
	return worker.Decision{Reason: "force push"}, nil
}

func (c *oneRun) Stream(ctx context.Context, _ string, after uint64) (<-chan run.Item, error) {
	c.tell("stream after %d", after)
	out := make(chan run.Item)
	go func() { // ends with ctx; its end closes the channel
		defer close(out)
		for {
			select {
			case i := <-c.send:
				select {
				case out <- i:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func (c *oneRun) Events(context.Context, string, uint64) ([]worker.Event, error) { return nil, nil }

// serve serves a city on a Unix socket until the test ends.
func serve(t *testing.T, city workerapi.City) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "w.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- workerapi.NewServer(city, workerapi.Options{}).Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return path
}

// TestTheExamplesAreCompleteWorkers runs each example against the server: it reports,
// takes a prompt, asks before it runs a command, and ends with its run.
func TestTheExamplesAreCompleteWorkers(t *testing.T) {
	examples := map[string][]string{
		"go":     {"go", "run", "./go"},
		"python": {"python3", "python/worker.py"},
		"shell":  {"sh", "shell/worker.sh"},
	}
	for name, argv := range examples {
		t.Run(name, func(t *testing.T) {
			for _, tool := range []string{argv[0], "curl", "jq"} {
				if _, err := exec.LookPath(tool); err != nil && (tool == argv[0] || name == "shell") {
					t.Skipf("%s is not installed", tool)
				}
			}
			city := &oneRun{changed: make(chan struct{}), send: make(chan run.Item)}
			path := serve(t, city)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			cmd.Dir = "../../examples/worker"
			cmd.Env = append(os.Environ(), "GC_WORKER_SOCKET="+path, "GC_WORKER_TOKEN="+theToken, "GC_RUN_ID="+theRun)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			city.await(t, "stream after 0")
			lines := bufio.NewScanner(out)
			for i, prompt := range []string{`say "hi" — ünïcode`, "run: git push --force"} {
				data, err := json.Marshal(worker.Prompt{RunID: theRun, Content: prompt})
				if err != nil {
					t.Fatal(err)
				}
				id := fmt.Sprintf("p-%d", i+1)
				city.send <- run.Item{Message: &worker.Message{Seq: uint64(i + 1), ID: id, Kind: worker.PromptMessage, At: time.Now(), Data: data}}
				city.await(t, "ack "+id+" consumed")
				if !lines.Scan() {
					t.Fatalf("no answer: %v", lines.Err())
				}
				want := "answer: " + prompt
				if i == 1 {
					want = "answer: allowed: false force push"
				}
				if got := lines.Text(); !strings.EqualFold(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			city.await(t, `authorize Bash {"command":"git push --force"}`)
			city.await(t, "lifecycle started \nlifecycle ready \nstream after 0\nlifecycle busy p-1\nack p-1 submitted\nlifecycle idle p-1\nack p-1 consumed")
			city.send <- run.Item{End: true}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the worker ended with %v", err)
			}
		})
	}
}
