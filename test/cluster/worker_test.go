package cluster_test

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
	"gascity/test/fakecodex"
	"gascity/worker"
)

// callsVariable names the file in which this program, as a part of an agent, writes the
// results of its questions.
const callsVariable = "CLUSTER_CALLS"

func TestMain(m *testing.M) {
	if fakecodex.Called() {
		fakecodex.Main()
	}
	if path := os.Getenv(callsVariable); path != "" {
		requestTools(path)
		return
	}
	os.Exit(m.Run())
}

// requestTools asks again and again whether a tool may be used, until its pod is ended.
func requestTools(path string) {
	file := must(os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
	c := &worker.Client{Socket: os.Getenv("GC_WORKER_SOCKET"), Token: os.Getenv("GC_WORKER_TOKEN"), RunID: os.Getenv("GC_RUN_ID")}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		d, err := c.Authorize(ctx, worker.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"touch file"}`)})
		cancel()
		fmt.Fprintf(file, "%t %q %v\n", d.Allowed, d.Reason, err)
		<-time.After(50 * time.Millisecond)
	}
}

// running returns the processes, in whatever pod, whose arguments begin like this.
func running(args ...string) (pids []int) {
	for _, path := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		line, err := os.ReadFile(path)
		var pid int
		if _, scanErr := fmt.Sscanf(path, "/proc/%d/", &pid); err == nil && scanErr == nil && strings.HasPrefix(string(line), strings.Join(args, "\x00")+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// cutConnections ends what carries the words of agents in pods to their city. It can be made again
// at once.
func cutConnections() {
	for _, pid := range running("/gc/bin/gc", "outpost", "serve") {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// An agent in a pod that speaks the worker API is guarded, takes each prompt once and says
// so although its tunnel is cut again and again, and may use no tool while there is none.
func TestAWorkerInAPod(t *testing.T) {
	requireCluster(t)
	const prompts, cuts = 24, 3
	c := openPodCity(t, fmt.Sprintf("[guard]\nsets = [\"dangerous-command\"]\n[[agents]]\nname = \"worker\"\nstart_command = %q\noverlay_dir = \"files\"\n[agents.env]\nGC_K8S_PULL_POLICY = \"IfNotPresent\"\n",
		"(until [ -s answers ]; do sleep 0.1; done; exec env "+callsVariable+"=calls ./cluster.test) & exec ./worker >>answers 2>&1"),
		"worker", "cluster.test")
	read := func(name string) string {
		for _, pid := range running("./worker") {
			text, _ := os.ReadFile(filepath.Join(fmt.Sprintf("/proc/%d/root", pid), c.root, name)) // none yet, at first
			return string(text)
		}
		t.Fatal("no worker runs")
		return ""
	}
	if err := c.promptAndWait("worker", "run: git push --force origin main"); err != nil {
		t.Fatal(err)
	}
	if said := strings.ToLower(read("answers")); !strings.Contains(said, "allowed: false a force push") {
		t.Errorf("a force push was answered by %q", said)
	}

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
		cutConnections()
	}
	sending.Wait()
	for i := range prompts {
		if n := strings.Count(read("answers"), fmt.Sprintf("answer: prompt %d.\n", i)); n != 1 {
			t.Errorf("prompt %d was answered %d times", i, n)
		}
	}

	after := func(n int) []string { all := strings.Split(read("calls"), "\n"); return all[min(n, len(all)):] }
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
	eventually(t, "the tool's use", since(0, "true"))
	server := component(t, "apiserver") // without it no tunnel can be made
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(server, syscall.SIGCONT) })
	denied := since(len(after(0)), "false")
	eventually(t, "the tool's denial", func() bool { cutConnections(); return denied() })
	n := len(after(0)) + 1 // one may be under way
	cutConnections()
	eventually(t, "more denials", since(n, "false"))
	if since(n, "true")() {
		t.Error("without a tunnel the tool was allowed")
	}
	if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	n = len(after(0))
	eventually(t, "the tool's use again", since(n, "true"))
	if err := c.promptAndWait("worker", "the last one."); err != nil {
		t.Error(err)
	}
	status, err := c.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a := status.Agents[0]; a.Worker == nil || a.Worker.Status != "healthy" || a.Restarts != 0 || a.State != client.StateRunning {
		t.Errorf("the agent is %+v", a)
	}
}
