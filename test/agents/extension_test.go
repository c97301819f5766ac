package agents

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/agentcli"
	"gascity/test/agents/bed"
	"gascity/worker"
)

// driver loads an extension or a plugin and calls what it has given, as its agent CLI would.
const driver = `
import { createInterface } from "node:readline";
const loaded = await import(process.argv[2]), calls = {}, handed = [];
let stale = false;
const isIdle = () => {
  if (stale) throw new Error("this ctx is stale");
  return true;
};
const sendUserMessage = (text) => {
  handed.push(text);
  setTimeout(() => calls.message_start({ message: { role: "user", content: text } }), text === "slow" ? 500 : 0);
};
if (loaded.default) loaded.default({ on: (name, call) => (calls[name] = call), sendMessage: () => {}, sendUserMessage });
else Object.assign(calls, await loaded.Gascity({}));
calls.stale = () => void (stale = true);
calls.handed = () => ({ block: true, reason: JSON.stringify(handed) });
console.log(JSON.stringify(""));
for await (const line of createInterface({ input: process.stdin })) {
  const [name, first, second] = JSON.parse(line);
  let thrown = "";
  try {
    const answer = await calls[name](first, name === "session_start" ? { sessionManager: { getSessionId: () => first.session }, isIdle, model: {} } : second);
    if (answer?.block) thrown = answer.reason;
  } catch (error) {
    thrown = error.message;
  }
  console.log(JSON.stringify(thrown));
}`

// receivedReport is one report that reached a city, whatever it answered.
type receivedReport struct {
	call  worker.Call
	path  string
	at    time.Time
	life  worker.Lifecycle
	claim worker.ContextClaim
	ack   worker.Ack
}

// fakeCity receives what an extension reports, and answers it as the test
// wants.
type fakeCity struct {
	t      *testing.T
	socket string
	server *http.Server

	mu     sync.Mutex
	heard  []receivedReport                    // guarded by mu
	answer func(r receivedReport) (status int) // guarded by mu
	stream func(w io.Writer, after string)     // guarded by mu; nil: there is nothing for the agent
}

func newFakeCity(t *testing.T) *fakeCity {
	dir, err := os.MkdirTemp("", "gc-city-") //nolint:usetesting // a socket's path has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder
	c := &fakeCity{t: t, socket: filepath.Join(dir, "s"), answer: func(receivedReport) int { return http.StatusOK }}
	c.start()
	t.Cleanup(c.stop)
	return c
}

func (c *fakeCity) start() {
	c.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(c.t.Context(), "unix", c.socket)
	if err != nil {
		c.t.Fatal(err)
	}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	go c.server.Serve(l) //nolint:errcheck // it ends with stop
}

func (c *fakeCity) stop() {
	_ = c.server.Close() // who is cut off does not matter
	_ = os.Remove(c.socket)
}

// answers changes what is answered from now on.
func (c *fakeCity) answers(how func(receivedReport) int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = how
}

func (c *fakeCity) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/stream" {
		c.mu.Lock()
		stream := c.stream
		c.mu.Unlock()
		if stream == nil {
			<-r.Context().Done()
			return
		}
		stream(w, r.Header.Get("Last-Event-ID"))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	one := receivedReport{path: r.URL.Path, at: time.Now()}
	var into any = new(any)
	switch r.URL.Path {
	case "/lifecycle":
		into = &one.life
	case "/context/claim":
		into = &one.claim
	case "/ack":
		into = &one.ack
	case "/authorize":
		into = &one.call
	}
	if err := json.Unmarshal(body, into); err != nil {
		c.t.Errorf("%s: %v: %s", r.URL.Path, err, body)
	}
	c.mu.Lock()
	c.heard = append(c.heard, one)
	answer := c.answer
	c.mu.Unlock()
	status := answer(one)
	if status == hangs {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(status)
	fmt.Fprint(w, `{}`)
}

func (c *fakeCity) reports(path string) (out []receivedReport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.heard {
		if r.path == path {
			out = append(out, r)
		}
	}
	return out
}

// await waits until the city has received something, and returns when.
func (c *fakeCity) await(what string, is func() bool) time.Time {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); {
		if time.Now().After(end) {
			c.t.Fatalf("the city never received %s; it received %+v", what, c.reports("/lifecycle"))
		}
		<-time.After(10 * time.Millisecond)
	}
	return time.Now()
}

// latest returns the state that the city takes for the newest one.
func (c *fakeCity) latest() (last receivedReport) {
	for _, r := range c.reports("/lifecycle") {
		if !r.life.Timestamp.Before(last.life.Timestamp) {
			last = r
		}
	}
	return last
}

// extension is one that runs in what its agent CLI runs in.
type extension struct {
	t    *testing.T
	cli  string
	in   io.Writer
	out  *bufio.Scanner
	turn int
}

func extend(t *testing.T, name string, c *fakeCity) *extension {
	t.Helper()
	found := bed.Need(t, name)
	cli, _ := agentcli.LookupHooks(name)
	dir := t.TempDir()
	file, main := filepath.Join(dir, filepath.Base(cli.File)), filepath.Join(dir, "driver.mjs")
	if strings.HasSuffix(file, ".js") {
		file = strings.TrimSuffix(file, "js") + "mjs"
	}
	for path, text := range map[string]string{file: cli.Script, main: driver} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(found.Bin[strings.LastIndex(found.Bin, ":")+1:], "node")
	if name == "opencode" {
		program = found.Path // it is a Bun, whose errors are others
	}
	cmd := exec.CommandContext(t.Context(), program, main, file)
	cmd.Env = []string{"GC_WORKER_SOCKET=" + c.socket, "GC_WORKER_TOKEN=x", "GC_RUN_ID=x", "NODE_NO_WARNINGS=1", "BUN_BE_BUN=1", "HOME=" + dir}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it waits with what it could not report
		_ = cmd.Wait()
	})
	e := &extension{t: t, cli: name, in: in, out: bufio.NewScanner(out)}
	e.out.Buffer(nil, 8<<20)
	e.answered()
	if name == "pi" {
		e.call("session_start", object{"reason": "startup", "session": "one"}, nil)
	}
	return e
}

type object = map[string]any

// call calls one handler and returns what it throws or answers.
func (e *extension) call(name string, first, second any) string {
	e.t.Helper()
	line, err := json.Marshal([]any{name, first, second})
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.in.Write(append(line, '\n')); err != nil {
		e.t.Fatal(err)
	}
	return e.answered()
}

func (e *extension) answered() (thrown string) {
	e.t.Helper()
	if !e.out.Scan() || json.Unmarshal(e.out.Bytes(), &thrown) != nil {
		e.t.Fatalf("%s: the driver says %q, %v", e.cli, e.out.Text(), e.out.Err())
	}
	return thrown
}

// event is one of opencode's.
func (e *extension) event(kind string, about object) {
	e.call("event", object{"event": object{"type": kind, "properties": about}}, nil)
}

// acceptPrompt has the agent take a prompt in a conversation.
func (e *extension) acceptPrompt(conversation string) {
	e.turn++
	text := fmt.Sprintf("prompt %d", e.turn)
	if e.cli == "pi" {
		e.call("before_agent_start", object{"prompt": text}, nil)
		return
	}
	e.call("chat.message", object{"sessionID": conversation}, object{"parts": []object{{"id": "p", "type": "text", "text": text}}})
}

// rests has the turn end, with a response that took something.
func (e *extension) rests(conversation string) {
	id := fmt.Sprintf("response %d", e.turn)
	if e.cli == "pi" {
		e.call("message_end", object{"message": object{"role": "assistant", "responseId": id, "usage": object{"input": 7, "output": 1, "totalTokens": 8}}}, nil)
		e.call("agent_settled", object{}, nil)
		return
	}
	e.event("message.updated", object{"sessionID": conversation, "info": object{"id": id, "role": "assistant", "time": object{"completed": 1}, "tokens": object{"input": 7, "output": 1}}})
	e.event("session.idle", object{"sessionID": conversation})
}

// begins has a new conversation begin in the same process.
func (e *extension) begins(conversation string) {
	if e.cli == "pi" {
		e.call("session_start", object{"reason": "new", "session": conversation}, nil)
		return
	}
	e.event("session.created", object{"info": object{"id": conversation}})
}

// extended runs a test with the extension and the plugin of ours.
func extended(t *testing.T, test func(*testing.T, *fakeCity, *extension)) {
	together(t)
	for _, name := range driven("pi", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			c := newFakeCity(t)
			test(t, c, extend(t, name, c))
		})
	}
}

// hangs is the status of what is never answered.
const hangs = -1

// TestStatesAreNotHeldUp: whatever the city does to acknowledgements and telemetry, or to one
// state, the next state reaches it at once.
func TestStatesAreNotHeldUp(t *testing.T) {
	for name, statuses := range map[string]map[string]int{
		"acknowledgements fail and telemetry hangs": {"/ack": http.StatusInternalServerError, "/telemetry": hangs},
		"telemetry fails and acknowledgements hang": {"/ack": hangs, "/telemetry": http.StatusServiceUnavailable},
		"all that is busy hangs":                    {"busy": hangs},
		"all that is busy fails":                    {"busy": http.StatusInternalServerError},
		"all is answered late":                      {"late": 1},
	} {
		t.Run(name, func(t *testing.T) {
			extended(t, func(_ *testing.T, c *fakeCity, e *extension) {
				c.await("of its start", func() bool { return c.latest().life.Event == worker.Ready })
				c.answers(func(r receivedReport) int {
					if statuses["late"] != 0 {
						<-time.After(2 * time.Second)
					}
					return cmp.Or(statuses[r.path], statuses[string(r.life.Event)], http.StatusOK)
				})
				for range 3 {
					c.wantReportSoon(worker.Busy, func() { e.acceptPrompt("one") })
					c.wantReportSoon(worker.Idle, func() { e.rests("one") })
				}
			})
		})
	}
}

// wantReportSoon does what has a state come, and waits until that is the city's newest.
func (c *fakeCity) wantReportSoon(want worker.Transition, do func()) {
	c.t.Helper()
	began := time.Now().Truncate(time.Millisecond) // as the extension writes times
	do()
	var last receivedReport
	c.await(string(want), func() bool {
		last = c.latest()
		return last.life.Event == want && !last.life.Timestamp.Before(began)
	})
	if took := last.at.Sub(began); took > 2*time.Second {
		c.t.Errorf("%s is known after %v", want, took)
	}
}

// TestToldWhenTheCityIsBack: what is done while no city is there is reported once one is: the
// states in order, what was taken once, and the beginning of a conversation, without a claim that
// anything was seen. A beginning that another one followed is not reported any more.
func TestToldWhenTheCityIsBack(t *testing.T) {
	extended(t, func(t *testing.T, c *fakeCity, e *extension) {
		c.await("of its start", func() bool { return c.latest().life.Event == worker.Ready })
		e.acceptPrompt("one")
		e.rests("one")
		c.await("of a turn", func() bool {
			return c.latest().life.Event == worker.Idle && len(c.reports("/ack")) == 1 && len(c.reports("/telemetry")) == 1
		})
		states, claims := len(c.reports("/lifecycle")), len(c.reports("/context/claim"))
		c.stop()
		for _, conversation := range []string{"two", "three"} {
			e.begins(conversation)
			e.acceptPrompt(conversation)
			e.rests(conversation)
		}
		c.start()
		c.await("of the new conversation", func() bool { return len(c.reports("/ack")) == 2 })
		c.await("what was taken", func() bool { return len(c.reports("/telemetry")) == 3 })
		c.await("the last end", func() bool {
			return c.latest().life.Event == worker.Idle && c.latest().life.Metadata.ConversationID == "three"
		})
		later := c.reports("/lifecycle")[states:]
		if !slices.IsSortedFunc(later, func(a, b receivedReport) int { return a.life.Timestamp.Compare(b.life.Timestamp) }) || len(later) < 4 {
			t.Errorf("the states come as %+v", later)
		}
		told := c.reports("/context/claim")[claims:]
		if len(told) != 1 || told[0].claim.Source != worker.BeganCleared || told[0].claim.ConversationID != "three" {
			t.Fatalf("of the beginnings the city hears %+v", told)
		}
		if ack := c.reports("/ack")[1].ack; ack.ID != told[0].claim.ID || ack.State != worker.Consumed || len(ack.Nonces) > 0 {
			t.Errorf("of %s it hears %+v", told[0].claim.ID, ack)
		}
	})
}

// TestAToolWaitsForNoCity: a city that hangs keeps a tool from running, and the agent not for
// longer than it waits.
func TestAToolWaitsForNoCity(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the time that a person has for an answer")
	}
	extended(t, func(t *testing.T, c *fakeCity, e *extension) {
		c.answers(func(receivedReport) int { return hangs })
		reason := ""
		began := time.Now()
		if e.cli == "pi" {
			reason = e.call("tool_call", object{"toolCallId": "t", "toolName": "bash", "input": object{}}, nil)
		} else {
			reason = e.call("tool.execute.before", object{"callID": "t", "tool": "bash"}, object{"args": object{}})
		}
		if took := time.Since(began); !strings.Contains(reason, "no answer in time") || took > 90*time.Second {
			t.Errorf("after %v the tool is answered %q", took, reason)
		}
	})
}

// TestQuestionOfTheAgentShowsItsCommand: what a person is asked about a question of the agent
// CLI's own has the command that would run, whether the call is known already or not.
func TestQuestionOfTheAgentShowsItsCommand(t *testing.T) {
	together(t)
	for _, name := range driven("opencode") {
		c := newFakeCity(t)
		e := extend(t, name, c)
		e.call("tool.execute.before", object{"callID": "c1", "tool": "bash"}, object{"args": object{"command": "touch one"}})
		e.event("permission.asked", object{"id": "p1", "sessionID": "s", "permission": "bash", "patterns": []string{"touch *"}, "tool": object{"callID": "c1"}})
		e.event("permission.asked", object{"id": "p2", "sessionID": "s", "permission": "bash", "patterns": []string{"touch two"}, "tool": object{"callID": "c2"}})
		for _, want := range []string{"touch one", "touch two"} {
			c.await("the question about "+want, func() bool {
				return slices.ContainsFunc(c.reports("/authorize"), func(r receivedReport) bool {
					return r.call.Ask && r.call.Tool == "bash" && strings.Contains(string(r.call.Input), `"command":"`+want+`"`)
				})
			})
		}
	}
}
