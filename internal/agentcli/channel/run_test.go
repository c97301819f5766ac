package channel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/agentcli/channel"
	"gascity/internal/terminal/vt"
	"gascity/test/fakecodex"
	"gascity/worker"
)

// patience is how long anything may take on a loaded machine.
const patience = 30 * time.Second

// family is an agent CLI with a channel.
const family = "codex"

// TestMain makes the test program also the agent CLI.
func TestMain(m *testing.M) {
	if fakecodex.Called() {
		fakecodex.Main()
	}
	os.Exit(m.Run())
}

// city is the worker API as far as a channel needs it.
type city struct {
	messages chan worker.Message
	mu       sync.Mutex
	said     []string
	changed  chan struct{}
}

func (c *city) recordText(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, text)
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until the city has received the texts, in this order.
func (c *city) await(t *testing.T, words ...string) {
	t.Helper()
	limit := time.After(patience)
	for {
		c.mu.Lock()
		said, changed, at := slices.Clone(c.said), c.changed, 0
		c.mu.Unlock()
		for _, s := range said {
			if at < len(words) && strings.HasPrefix(s, words[at]) {
				at++
			}
		}
		if at == len(words) {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("the city received %q, want %q in that order", said, words)
		}
	}
}

func (c *city) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/stream":
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for {
			select {
			case m := <-c.messages:
				text, _ := json.Marshal(m)
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", m.Kind, text)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case "/ack":
		var a worker.Ack
		_ = json.NewDecoder(r.Body).Decode(&a)
		c.recordText(fmt.Sprintf("%s %s %s", a.ID, a.State, a.Detail))
	case "/lifecycle":
		var l worker.Lifecycle
		_ = json.NewDecoder(r.Body).Decode(&l)
		c.recordText(fmt.Sprintf("%s %s", l.Event, l.Metadata.Reason))
	case "/telemetry":
		var e worker.Telemetry
		_ = json.NewDecoder(r.Body).Decode(&e)
		c.recordText("telemetry " + e.Events[0].Message)
	}
	_, _ = io.WriteString(w, "{}")
}

// agent is a channel that runs.
type agent struct {
	*city
	log    string
	output bytes.Buffer
	status chan int
}

// begin runs the channel with a city until the end of the test.
func begin(t *testing.T, args []string, env ...string) *agent {
	t.Helper()
	dir, err := os.MkdirTemp("", "ch") //nolint:usetesting // short: it has sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "city"))
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{city: &city{messages: make(chan worker.Message, 8), changed: make(chan struct{})}, log: filepath.Join(dir, "log"), status: make(chan int, 1)}
	served := &http.Server{Handler: a.city, ReadHeaderTimeout: time.Minute}
	go func() { _ = served.Serve(l) }()
	t.Cleanup(func() { _ = served.Close() })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), fakecodex.LogVariable+"="+a.log, "GC_WORKER_SOCKET="+filepath.Join(dir, "city"), "GC_WORKER_TOKEN=t", "GC_RUN_ID=r", "GC_HOOK_DIR="+dir)
	go func() {
		a.status <- channel.Run(t.Context(), channel.Options{
			Args: append([]string{family, self}, args...), Environ: append(environ, env...), Stdin: strings.NewReader(""), Stdout: &a.output, Stderr: &a.output,
		})
	}()
	return a
}

func (a *agent) prompt(id, text string) {
	data, _ := json.Marshal(worker.Prompt{RunID: "r", Content: text})
	a.messages <- worker.Message{Seq: uint64(len(id)), ID: id, Kind: worker.PromptMessage, Data: data}
}

// ends waits until the channel has exited and returns its status.
func (a *agent) ends(t *testing.T) int {
	t.Helper()
	select {
	case status := <-a.status:
		return status
	case <-time.After(patience):
		t.Fatal("the channel does not end")
		return 0
	}
}

func (a *agent) logged(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(a.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// TestPromptIsSentExactly checks that a text that typing would change reaches the server unchanged,
// that its receipt advances, and that the exit status is that of the client.
func TestPromptIsSentExactly(t *testing.T) {
	t.Parallel()
	a := begin(t, []string{"-m", "x", "--no-daemon", "[city] agent\n\nbegin"})
	a.await(t, "started", "ready")
	text := "e\u0301 \u202eRTL\u202c /status @\r\n\n! echo \\"
	a.prompt("p1", text)
	a.await(t, "p1 submitted", "p1 consumed", "idle done")
	a.prompt("p2", "fail")
	a.await(t, "p2 submitted", "telemetry the model is away", "idle failed")
	if status := a.ends(t); status != 7 {
		t.Errorf("the channel exited with %d, want 7 as its client", status)
	}
	raw, _ := json.Marshal(text)
	if log := a.logged(t); !strings.Contains(log, "text "+string(raw)+"\n") || !strings.Contains(log, "server ends") {
		t.Errorf("the log is\n%s\nwant the text %s and the server's end", log, raw)
	}
}

// TestPromptWaitsForTheTurnOfAPerson checks that a prompt of the city does not become part of a
// turn that a person has begun, and that an interrupt of the city ends such a turn.
func TestPromptWaitsForTheTurnOfAPerson(t *testing.T) {
	t.Parallel()
	a := begin(t, nil, fakecodex.UserVariable+"=hold the person's")
	a.await(t, "ready")
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for limit := time.After(patience); !strings.Contains(a.logged(t), "person"); {
		select {
		case <-look.C:
		case <-limit:
			t.Fatal("the person's turn does not begin")
		}
	}
	a.prompt("p1", "hold mine")
	a.await(t, "idle interrupted", "p1 submitted")
	a.messages <- worker.Message{Seq: 9, ID: "i1", Kind: worker.InterruptMessage, Data: []byte(`{"run_id":"r"}`)}
	a.await(t, "idle interrupted", "p1 submitted", "idle interrupted", "i1 consumed")
	a.prompt("p22", "refuse")
	a.await(t, "p22 refused")
	a.prompt("p333", "fail")
	a.ends(t)
	if log := a.logged(t); strings.Index(log, "person") > strings.Index(log, "mine") {
		t.Errorf("the log is\n%s\nwant the person's text first", log)
	}
}

// TestServerThatDiesEndsTheSession checks that the client is stopped when the server exits, and
// that the exit status is a failure, so that the agent is started again.
func TestServerThatDiesEndsTheSession(t *testing.T) {
	t.Parallel()
	a := begin(t, nil)
	a.await(t, "ready")
	a.prompt("p1", "crash")
	if status := a.ends(t); status != 1 {
		t.Errorf("the channel exited with %d, want 1", status)
	}
	screen := vt.New(80, 24, nil)
	_, _ = screen.Write(a.output.Bytes()) // it never fails
	if lines := slices.DeleteFunc(screen.Rows(), func(row string) bool { return row == "" }); lines[len(lines)-1] != "gc: the agent exits: its server exited: it fell over" {
		t.Errorf("the screen is %q, want the last words of the server in its last line", lines)
	}
	a.await(t, "p1 failed")
}

// TestUnknownCommandLineRunsAlone checks that an agent CLI whose command line gc does not
// understand is run without a channel.
func TestUnknownCommandLineRunsAlone(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--unknown"}, {"exec", "a task"}, {"one", "two"}, {"-m"}} {
		a := begin(t, args)
		if status := a.ends(t); status != 4 || !strings.Contains(a.logged(t), "alone "+strings.Join(args, " ")) {
			t.Errorf("%q: status %d, log %q; want the program alone", args, status, a.logged(t))
		}
	}
}

// TestHooksOfTheCommandLineAreTrusted checks that the client does not ask about the hooks of the
// server's command line, and asks about other hooks.
func TestHooksOfTheCommandLineAreTrusted(t *testing.T) {
	t.Parallel()
	a := begin(t, []string{"resume", "01", "-c", "a=1"})
	a.await(t, "ready")
	a.prompt("p1", "fail")
	a.ends(t)
	if log := a.logged(t); !strings.Contains(log, `"source":"sessionFlags","trustStatus":"trusted"`) || !strings.Contains(log, `"source":"user","trustStatus":"untrusted"`) {
		t.Errorf("the client got %s", log)
	}
}
