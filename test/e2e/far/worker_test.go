package far_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/fakeagent/build"
	"gascity/worker"
)

// callsVariable names the file in which this program, as a part of an agent, writes the
// results of its questions.
const callsVariable = "FAR_CALLS"

// requestTools requests authorization of a tool repeatedly, until its agent is stopped.
func requestTools(path string) {
	file := must(os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
	ctx := context.Background()
	c := &worker.Client{Socket: os.Getenv("GC_WORKER_SOCKET"), Token: os.Getenv("GC_WORKER_TOKEN"), RunID: os.Getenv("GC_RUN_ID")}
	for parent := os.Getppid(); os.Getppid() == parent; {
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		d, err := c.Authorize(limited, worker.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"touch file"}`)})
		cancel()
		fmt.Fprintf(file, "%t %q %v\n", d.Allowed, d.Reason, err)
		<-time.After(50 * time.Millisecond)
	}
}

// drop ends the connections to the host. New ones can be made at once.
func (f *sshServer) drop() {
	for _, pid := range f.family() {
		if pid != f.sshd.Process.Pid {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// promptAndWait sends a prompt to an agent and waits until its worker reports that it was accepted.
func (c *city) promptAndWait(name, text string) error {
	ctx, cancel := context.WithTimeout(c.Context(), waitLimit)
	defer cancel()
	for {
		r, err := c.client.Nudge(ctx, name, client.NudgeRequest{Text: text, Key: text, Wait: client.ReceiptConsumed})
		if err == nil && r.State == client.ReceiptConsumed {
			return nil
		}
		if ctx.Err() != nil || err == nil && r.Ended() && r.State != client.ReceiptSubmitted {
			return fmt.Errorf("%q is %s: %s, %w", text, r.State, r.Reason, err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// An agent on another host uses the worker API. It is guarded, gets and acknowledges each prompt once although
// its connection is lost repeatedly, and may use no tool without a connection.
func TestWorkerOnAnotherHost(t *testing.T) {
	t.Parallel()
	const prompts, cuts = 24, 3
	f := newSSHServer(t, options{})
	program, answers, calls := filepath.Join(f.dir, "worker"), filepath.Join(f.dir, "answers"), filepath.Join(f.dir, "calls")
	if err := build.Program(program, "gascity/examples/worker/go"); err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("(until [ -s '%[5]s' ]; do sleep 0.1; done; exec env %[1]s='%[2]s' '%[3]s') & exec '%[4]s' >>'%[5]s' 2>&1",
		callsVariable, calls, must(os.Executable()), program, answers)
	c := newCity(t, f, fmt.Sprintf("[guard]\nsets = [\"dangerous-command\"]\n[[agents]]\nname = \"worker\"\nsession = \"ssh:box\"\nstart_command = %q\nwork_dir = %q\n", command, f.dir))
	told := func() string { text, _ := os.ReadFile(answers); return string(text) } // none yet, at first

	if err := c.promptAndWait("worker", "run: git push --force origin main"); err != nil {
		t.Fatal(err)
	}
	if said := strings.ToLower(told()); !strings.Contains(said, "allowed: false a force push") {
		t.Errorf("a force push was answered by %q", said)
	}

	began := time.Now()
	lap := func(what string) { t.Logf("%s after %s", what, time.Since(began).Round(time.Millisecond)) }
	var sending sync.WaitGroup
	for i := range prompts {
		sending.Go(func() {
			if err := c.promptAndWait("worker", fmt.Sprintf("prompt %d.", i)); err != nil {
				t.Error(err)
			}
		})
	}
	for range cuts {
		<-time.After(300 * time.Millisecond)
		f.drop()
	}
	sending.Wait()
	lap("all prompts were taken")
	for i := range prompts {
		if n := strings.Count(told(), fmt.Sprintf("answer: prompt %d.\n", i)); n != 1 {
			t.Errorf("prompt %d was answered %d times", i, n)
		}
	}

	asked := func() []string { return strings.Split(string(must(os.ReadFile(calls))), "\n") }
	after := func(n int) []string { all := asked(); return all[min(n, len(all)):] }
	since := func(n int, word string) func() bool {
		return func() bool {
			count := 0
			for _, line := range after(n) {
				if strings.HasPrefix(line, word) {
					count++
				}
			}
			return count > 2
		}
	}
	until(t, "the tool is allowed", since(0, "true"))
	lap("the tool is allowed")
	f.signal(syscall.SIGKILL)
	f.down()
	n := len(asked()) + 1 // one may be under way
	until(t, "the tool is denied without a tunnel", since(n, "false"))
	if since(n, "true")() {
		t.Errorf("without a tunnel the tool was allowed: %s", after(n))
	}
	lap("it is denied")
	f.resume(t)
	n = len(asked())
	until(t, "the tool is allowed again", since(n, "true"))
	lap("it is allowed again")
	if err := c.promptAndWait("worker", "the last one."); err != nil {
		t.Error(err)
	}
	now := c.agent("worker")
	if now == nil || now.Worker == nil || now.Worker.Status != "healthy" || now.Restarts != 0 {
		t.Errorf("the agent is %+v", now)
	}
}
