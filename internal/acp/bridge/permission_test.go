package bridge_test

import (
	"bufio"
	"encoding/json"
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

	"gascity/internal/acp/bridge"
	"gascity/runtime"
	"gascity/worker"
)

// actorVariable holds the name that an actor calls itself.
const actorVariable = "ACTOR"

// actor is an agent that does what its prompt says: it sends a list of messages to the client, each
// request after the answer to the one before, except for those that are marked.
func actor(in io.Reader, out io.Writer) {
	type message struct {
		ID     json.RawMessage `json:"id,omitempty"`
		Method string          `json:"method,omitempty"`
		Params json.RawMessage `json:"params,omitempty"`
		Result json.RawMessage `json:"result,omitempty"`
		Error  json.RawMessage `json:"error,omitempty"`
	}
	send := func(m map[string]any) {
		m["jsonrpc"] = "2.0"
		line, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		_, _ = out.Write(append(line, '\n')) // its client's end is its own
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	var script []message
	var prompt json.RawMessage
	next := func() {
		for len(script) > 0 {
			m := script[0]
			script = script[1:]
			if m.Method == "session/update" {
				send(map[string]any{"method": m.Method, "params": m.Params})
				continue
			}
			send(map[string]any{"id": "q" + m.Method, "method": m.Method, "params": m.Params})
			if string(m.ID) != `"goes on"` {
				return
			}
		}
		send(map[string]any{"id": prompt, "result": map[string]any{"stopReason": "end_turn"}})
		prompt = nil
	}
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		switch m.Method {
		case "initialize":
			send(map[string]any{"id": m.ID, "result": map[string]any{
				"protocolVersion": 1, "agentCapabilities": map[string]any{}, "agentInfo": map[string]any{"name": os.Getenv(actorVariable), "version": "1"},
			}})
		case "session/new":
			send(map[string]any{"id": m.ID, "result": map[string]any{"sessionId": "s"}})
		case "session/prompt":
			var p struct{ Prompt []struct{ Text string } }
			if json.Unmarshal(m.Params, &p) != nil || json.Unmarshal([]byte(p.Prompt[0].Text), &script) != nil {
				panic("no script: " + string(m.Params))
			}
			prompt = m.ID
			next()
		case "":
			fmt.Fprintf(os.Stderr, "answer %s %s%s\n", m.ID, m.Result, m.Error)
			if prompt != nil {
				next()
			}
		}
	}
}

// city is what a host asks: decide answers, and reports are kept.
type city struct {
	socket string
	decide func(w http.ResponseWriter, r *http.Request, c worker.Call)

	mu     sync.Mutex
	calls  []worker.Call
	answer []worker.TelemetryEvent
}

func found(t *testing.T, decide func(http.ResponseWriter, *http.Request, worker.Call)) *city {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcj") //nolint:usetesting // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	c := &city{socket: filepath.Join(dir, "w"), decide: decide}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", c.socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: c, ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) }) // until it is closed
	t.Cleanup(func() {
		_ = s.Close() // every client is cut off
		serving.Wait()
		_ = os.RemoveAll(dir) // a temporary folder
	})
	return c
}

func (c *city) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/authorize":
		var call worker.Call
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			panic(err)
		}
		if call.Tool == worker.Canary {
			answerWith(w, worker.Decision{Rule: worker.Canary})
			return
		}
		c.mu.Lock()
		c.calls = append(c.calls, call)
		c.mu.Unlock()
		c.decide(w, r, call)
	case "/telemetry":
		var t worker.Telemetry
		if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
			panic(err)
		}
		c.mu.Lock()
		c.answer = append(c.answer, t.Events...)
		c.mu.Unlock()
		answerWith(w, worker.TelemetryAnswer{})
	}
}

func answerWith(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func always(d worker.Decision) func(http.ResponseWriter, *http.Request, worker.Call) {
	return func(w http.ResponseWriter, _ *http.Request, _ worker.Call) { answerWith(w, d) }
}

func (c *city) asked() []worker.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// used returns the IDs of the tool calls that were reported to the city as run.
func (c *city) used() (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.answer {
		for _, call := range e.ToolsCalled {
			ids = append(ids, call.CallID)
		}
	}
	return ids
}

func beginIn(t *testing.T, c *city, env ...string) *bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env = append([]string{"GC_WORKER_SOCKET=" + c.socket, "GC_WORKER_TOKEN=run", "GC_RUN_ID=r"}, env...)
	return beginAs(t, func(*bench) string { return self + " agent" }, env...)
}

// plays makes the agent send the messages of a script, and waits until the output has all of the
// texts.
func (b *bench) plays(script string, wants ...string) {
	b.t.Helper()
	out, err := b.deliver("p", script, time.Minute)
	if err != nil || out.State == runtime.OutcomeRefused || out.State == runtime.OutcomeAbsent {
		b.t.Fatalf("%+v, %v", out, err)
	}
	b.shows(wants...)
}

func (b *bench) shows(wants ...string) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; <-time.After(10 * time.Millisecond) {
		text := b.output.String()
		missing := slices.DeleteFunc(slices.Clone(wants), func(w string) bool { return strings.Contains(text, w) })
		if len(missing) == 0 {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%q is not in\n%s", missing, text)
		}
	}
}

func (p *printedOutput) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

const (
	options  = `"options":[{"optionId":"ever","name":"Always","kind":"allow_always"},{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`
	pushCall = `{"toolCallId":"c1","title":"git push --force","kind":"execute","rawInput":{"command":"git push --force"}}`
	pushAsk  = `{"method":"session/request_permission","params":{"sessionId":"s",` + options + `,"toolCall":` + pushCall + `}}`
)

// updated returns a message with which the agent reports the status of the call.
func updated(status string) string {
	return `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"` + status + `"}}}`
}

const (
	chosenYes = `"outcome":"selected","optionId":"y"`
	chosenNo  = `"outcome":"selected","optionId":"n"`
)

// TestPermissionRequestsAreAuthorizedByTheCity checks that the city decides about each permission
// request first. No tool is allowed without the city's consent, and a person is asked only about
// what the rules leave to a person.
func TestPermissionRequestsAreAuthorizedByTheCity(t *testing.T) {
	t.Parallel()
	deny := worker.Decision{Effect: worker.Deny, Rule: "force-push", Reason: "a force push destroys"}
	for name, c := range map[string]struct {
		decide func(http.ResponseWriter, *http.Request, worker.Call)
		person bool
		wants  []string
	}{
		"denied":                 {always(deny), false, []string{chosenNo, "acp: denied Bash: a force push destroys (rule force-push)"}},
		"denied by a person":     {always(worker.Decision{Effect: worker.Deny, Rule: "x", Reason: "a person has denied it", Interaction: "i"}), false, []string{chosenNo}},
		"allowed by a person":    {always(worker.Decision{Allowed: true, Effect: worker.Allow, Reason: "a person has allowed it", Interaction: "i"}), false, []string{chosenYes}},
		"allowed by rules":       {always(worker.Decision{Allowed: true, Effect: worker.Allow}), true, []string{chosenYes, "? git push --force [Always|Yes|No]"}},
		"allowed and denied":     {always(worker.Decision{Allowed: true, Effect: worker.Deny}), false, []string{chosenNo}},
		"an unknown word":        {always(worker.Decision{Allowed: true, Effect: "perhaps"}), false, []string{chosenNo}},
		"garbage":                {func(w http.ResponseWriter, _ *http.Request, _ worker.Call) { _, _ = w.Write([]byte("yes!")) }, false, []string{chosenNo, "the city gave no answer"}},
		"half an answer":         {func(w http.ResponseWriter, _ *http.Request, _ worker.Call) { _, _ = w.Write([]byte(`{"allowed":true`)) }, false, []string{chosenNo}},
		"a connection that ends": {func(http.ResponseWriter, *http.Request, worker.Call) { panic(http.ErrAbortHandler) }, false, []string{chosenNo}},
		"a token that is dead":   {func(w http.ResponseWriter, _ *http.Request, _ worker.Call) { w.WriteHeader(http.StatusGone) }, false, []string{chosenNo}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			town := found(t, c.decide)
			b := beginIn(t, town)
			if c.person {
				_, err := b.deliver("p", "["+pushAsk+"]", time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				s := b.until("a person is asked", func(s bridge.State) bool { return s.Pending != nil })
				if err := b.Respond(t.Context(), runtime.InteractionResponse{RequestID: s.Pending.RequestID, Action: runtime.ActionApprove}); err != nil {
					t.Fatal(err)
				}
				b.shows(c.wants...)
			} else {
				b.plays("["+pushAsk+"]", c.wants...)
				if text := b.output.String(); strings.Contains(text, "? git") {
					t.Errorf("a person was asked:\n%s", text)
				}
			}
			calls := town.asked()
			if len(calls) == 0 || calls[0].Tool != "Bash" || calls[0].ID != "c1" || !calls[0].Partial || string(calls[0].Input) != `{"command":"git push --force"}` {
				t.Errorf("the city was asked %+v", calls)
			}
		})
	}
}

// TestReasonOfADenialReachesTheModel checks that an agent that passes errors to its model gets the
// reason of a denial as an error.
func TestReasonOfADenialReachesTheModel(t *testing.T) {
	t.Parallel()
	town := found(t, always(worker.Decision{Effect: worker.Deny, Rule: "r", Reason: "no"}))
	b := beginIn(t, town, actorVariable+"=@agentclientprotocol/claude-agent-acp")
	b.plays("["+pushAsk+","+updated("failed")+"]", `answer "qsession/request_permission" {"code":-32001,"message":"denied: no (rule r)"}`)
}

// TestCityThatDoesNotAnswer checks that nothing is allowed while the city does not answer, and that
// a slow city delays no interrupt.
func TestCityThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	t.Run("gone", func(t *testing.T) {
		t.Parallel()
		gone := &city{socket: filepath.Join(t.TempDir(), "none")}
		b := beginIn(t, gone)
		b.plays("["+pushAsk+"]", chosenNo, "the city gave no answer")
	})
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		here := make(chan struct{})
		town := found(t, func(_ http.ResponseWriter, r *http.Request, _ worker.Call) {
			close(here)
			<-r.Context().Done()
		})
		b := beginIn(t, town)
		if _, err := b.deliver("p", "["+pushAsk+"]", time.Minute); err != nil {
			t.Fatal(err)
		}
		<-here
		if s, err := b.State(t.Context(), 0); err != nil || s.Pending != nil || s.Activity != runtime.ActivityBusy {
			t.Errorf("while the city decides it is %+v, %v", s, err)
		}
		began := time.Now()
		if err := b.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the interrupt took %v", took)
		}
		b.shows(`"outcome":"cancelled"`)
		if text := b.output.String(); strings.Contains(text, "denied") {
			t.Errorf("no denial was recorded:\n%s", text)
		}
	})
}

// TestFilesAndCommandsAreAuthorizedByTheCity checks that the city also decides about the files and
// commands that the agent uses through the host.
func TestFilesAndCommandsAreAuthorizedByTheCity(t *testing.T) {
	t.Parallel()
	var no string
	var mu sync.Mutex
	town := found(t, func(w http.ResponseWriter, _ *http.Request, c worker.Call) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(string(c.Input), no) {
			answerWith(w, worker.Decision{Effect: worker.Deny, Rule: "r7", Reason: "not this one"})
			return
		}
		answerWith(w, worker.Decision{Allowed: true, Effect: worker.Allow})
	})
	b := beginIn(t, town)
	dir := filepath.Dir(b.ledger)
	script := fmt.Sprintf(`[
		{"method":"fs/write_text_file","params":{"sessionId":"s","path":"%[1]s/f","content":"hello"}},
		{"method":"fs/read_text_file","params":{"sessionId":"s","path":"%[1]s/f"}},
		{"method":"terminal/create","params":{"sessionId":"s","command":"touch %[1]s/ran"}},
		{"method":"terminal/create","params":{"sessionId":"s","command":"git","args":["push","-f"],"env":[{"name":"A","value":"b"}]}},
		{"method":"terminal/create","params":{"sessionId":"s","command":"touch","args":["%[1]s/sly"],"env":[{"name":"--split-string","value":"true"}]}}]`, dir)
	mu.Lock()
	no = dir
	mu.Unlock()
	b.plays(script, "qterminal/create", `"message":"denied: not this one (rule r7)"`)
	b.until("it is over", func(s bridge.State) bool { return s.Turns == 1 })
	for end := time.Now().Add(30 * time.Second); strings.Count(b.output.String(), "answer ") < 5; <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) { // the agent's output is not part of the state that until waits for
			t.Fatalf("the agent did not get five answers:\n%s", b.output.String())
		}
	}
	if n := strings.Count(b.output.String(), `"code":-32001`); n != 4 {
		t.Errorf("%d were denied, want 4:\n%s", n, b.output.String())
	}
	for _, name := range []string{"f", "ran", "sly"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	mu.Lock()
	no = "nothing"
	mu.Unlock()
	if _, err := b.deliver("q", script, time.Minute); err != nil {
		t.Fatal(err)
	}
	b.until("it is over", func(s bridge.State) bool { return s.Turns == 2 })
	b.shows(`{"content":"hello"}`)                        // it could read
	b.shows(`is not the name of an environment variable`) // which env would take for an option of its own
	if _, err := os.Lstat(filepath.Join(dir, "sly")); err == nil {
		t.Error("what ran is not what the city was asked about")
	}
	want := []string{
		`Write {"content":"hello","file_path":"` + dir + `/f"}`, `Read {"file_path":"` + dir + `/f"}`,
		`Bash {"command":"touch ` + dir + `/ran"}`, `Bash {"command":["env","A=b","git","push","-f"]}`,
		`Bash {"command":["env","--split-string=true","touch","` + dir + `/sly"]}`,
	}
	var got []string
	for _, c := range town.asked()[5:] {
		got = append(got, c.Tool+" "+string(c.Input))
		if !c.Partial || c.Context["cwd"] == "" {
			t.Errorf("asked as %+v", c)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the city was asked %q, want %q", got, want)
	}
}

// TestDeniedToolThatRunsIsReported checks that a tool that ran although its call was denied is
// reported to the city, and a denied tool that failed is not.
func TestDeniedToolThatRunsIsReported(t *testing.T) {
	t.Parallel()
	unasked := strings.Replace(pushAsk, `{"method"`, `{"id":"goes on","method"`, 1)
	for name, c := range map[string]struct {
		script string
		ran    bool
	}{
		"obeys":             {"[" + pushAsk + "," + updated("failed") + "]", false},
		"runs it":           {"[" + pushAsk + "," + updated("completed") + "," + updated("completed") + "]", true},
		"does not wait":     {"[" + unasked + "," + updated("completed") + "]", true},
		"ran before it did": {"[" + updated("completed") + "," + pushAsk + "]", true},
	} {
		for _, hooked := range []string{"", "1"} {
			t.Run(name+hooked, func(t *testing.T) {
				t.Parallel()
				town := found(t, always(worker.Decision{Effect: worker.Deny, Rule: "r", Reason: "no"}))
				b := beginIn(t, town, "GC_HOOKS="+hooked)
				b.plays(c.script)
				b.until("it is over", func(s bridge.State) bool { return s.Turns == 1 })
				if c.ran {
					b.shows("acp: the agent says that a denied tool has run")
					for end := time.Now().Add(10 * time.Second); !slices.Contains(town.used(), "c1"); <-time.After(10 * time.Millisecond) {
						if time.Now().After(end) {
							t.Fatal("the city got no report")
						}
					}
					return
				}
				if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				if ids := town.used(); len(ids) > 0 {
					t.Errorf("the city received the report that %q ran", ids)
				}
			})
		}
	}
}

// TestCallsHaveTheFormOfTheRules checks in which form the rules get the tool calls of real agents:
// a command as a call of a shell, and the files of other tools.
func TestCallsHaveTheFormOfTheRules(t *testing.T) {
	t.Parallel()
	before := `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"b","kind":"execute","title":"Terminal","rawInput":{"command":"git push -f"}}}}`
	cases := []struct{ before, call, want string }{
		{"", `{"toolCallId":"1","name":"Bash","title":"git push -f","kind":"execute","rawInput":{"command":"git push -f","description":"x"}}`, `Bash {"command":"git push -f","description":"x"}`},
		{"", `{"toolCallId":"2","title":"cat .env","kind":"read","rawInput":{"command":["bash","-lc","cat .env"],"cwd":"/w"},"locations":[{"path":"/w/.env"}]}`, `Bash {"command":["bash","-lc","cat .env"],"cwd":"/w","paths":["/w/.env"]}`},
		{"", `{"toolCallId":"3","title":"git push -f","kind":"execute","content":[],"locations":[]}`, `Bash {"command":"git push -f"}`},
		{"", "{\"toolCallId\":\"4\",\"title\":\"`git push -f`\",\"rawInput\":null}", `Bash {"command":"git push -f"}`},
		{"", `{"toolCallId":"5","title":"bash","kind":"execute","rawInput":{"command":"git push -f"}}`, `Bash {"command":"git push -f"}`},
		{"", `{"toolCallId":"6","title":"Edit f","kind":"edit","content":[{"type":"diff","path":"/w/f","newText":"x"}]}`, `Edit {"paths":["/w/f"]}`},
		{"", `{"toolCallId":"7","title":"f","kind":"read","locations":[{"path":"/w/f"},{"path":"/w/f"}]}`, `Read {"paths":["/w/f"]}`},
		{"", `{"toolCallId":"8","name":"mcp__x__y","title":"y","kind":"other","rawInput":[1]}`, `mcp__x__y {"input":[1]}`},
		{"", `{"toolCallId":"9","title":"y (x MCP Server)","kind":"other","rawInput":{"a":1}}`, `y (x MCP Server) {"a":1}`},
		{before, `{"toolCallId":"b"}`, `Bash {"command":"git push -f"}`},
		{"", `{"title":"first","kind":"other","rawInput":{"path":"/w/one"}}`, `first {"path":"/w/one"}`},
		{"", `{"title":"second","kind":"other"}`, `second {}`},
	}
	town := found(t, always(worker.Decision{Effect: worker.Deny, Rule: "r", Reason: "no"}))
	var script, want []string
	for _, c := range cases {
		if c.before != "" {
			script = append(script, c.before)
		}
		script = append(script, strings.Replace(pushAsk, pushCall, c.call, 1))
		want = append(want, c.want)
	}
	b := beginIn(t, town)
	b.plays("[" + strings.Join(script, ",") + "]")
	b.until("it is over", func(s bridge.State) bool { return s.Turns == 1 })
	for i, c := range town.asked() {
		if got := c.Tool + " " + string(c.Input); got != want[i] {
			t.Errorf("%s reached the city as %s, want %s", cases[i].call, got, want[i])
		}
	}
}
