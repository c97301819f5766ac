package hookrunner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/agentcli"
	"gascity/internal/hookrunner"
	"gascity/worker"
)

// requestRecorder records what is reported to a city.
type requestRecorder struct {
	mu     sync.Mutex
	life   []worker.Lifecycle
	events []worker.TelemetryEvent
}

func (e *requestRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/authorize" { // the canary
		_ = json.NewEncoder(w).Encode(worker.Decision{Effect: worker.Deny, Rule: worker.Canary}) // the client says if it is cut off
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	switch r.URL.Path {
	case "/lifecycle":
		var l worker.Lifecycle
		json.Unmarshal(body, &l) //nolint:errcheck // what is not read is missed
		e.life = append(e.life, l)
	case "/telemetry":
		var t worker.Telemetry
		json.Unmarshal(body, &t) //nolint:errcheck // as above
		e.events = append(e.events, t.Events...)
	}
	fmt.Fprint(w, "{}")
}

// runHooks runs the hooks of an agent CLI for events, and returns what the city has received.
func runHooks(t *testing.T, cli string, env map[string]string, inputs ...string) *requestRecorder {
	t.Helper()
	e := &requestRecorder{}
	c := newCity(t, e.ServeHTTP)
	for _, in := range inputs {
		var named agentcli.HookInput
		if err := json.Unmarshal([]byte(in), &named); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr strings.Builder
		status := hookrunner.Run(t.Context(), hookrunner.Call{
			Args: []string{"--for", cli, "--within", "10s", named.Event}, Stdin: strings.NewReader(in), Stdout: &stdout, Stderr: &stderr,
			Getenv: func(name string) string {
				switch name {
				case "GC_WORKER_SOCKET":
					return c.socket
				case "GC_WORKER_TOKEN", "GC_RUN_ID":
					return "x"
				}
				return env[name]
			},
		})
		if status != 0 || stdout.Len() > 0 || stderr.Len() > 0 {
			t.Errorf("%s: status %d, stdout %q, stderr %q", in, status, stdout.String(), stderr.String())
		}
	}
	return e
}

func (e *requestRecorder) words() []string {
	var out []string
	for _, l := range e.life {
		word := string(l.Event)
		if l.Metadata.Reason != "" {
			word += " " + l.Metadata.Reason
		}
		if l.Metadata.Via != worker.ViaHook {
			word += " without saying that it is a hook"
		}
		out = append(out, word)
	}
	return out
}

// TestEventsBecomeTransitions checks which transition is reported for each event of each agent CLI.
func TestEventsBecomeTransitions(t *testing.T) {
	t.Parallel()
	in := func(event, more string) string {
		return `{"session_id":"s1","hook_event_name":"` + event + `"` + more + `}`
	}
	for _, c := range []struct {
		what, cli string
		inputs    []string
		want      []string
	}{
		{"a turn", "claude", []string{in("SessionStart", `,"source":"startup"`), in("UserPromptSubmit", `,"prompt":"hi"`), in("Stop", "")}, []string{"started", "ready", "busy", "idle done"}},
		{"an error of the API", "claude", []string{in("UserPromptSubmit", ""), in("StopFailure", `,"error":"server_error"`)}, []string{"busy", "idle failed"}},
		{"a compaction in a turn is no end of it", "claude", []string{in("UserPromptSubmit", ""), in("SessionStart", `,"source":"compact"`), in("PostCompact", "")}, []string{"busy"}},
		{"a new conversation is no new agent", "claude", []string{in("SessionEnd", `,"reason":"clear"`), in("SessionStart", `,"source":"clear"`)}, []string{"ready"}},
		{"a resumed one", "claude", []string{in("SessionStart", `,"source":"resume"`)}, []string{"started", "ready"}},
		{"a notice of a question is no idleness", "claude", []string{in("UserPromptSubmit", ""), in("Notification", `,"notification_type":"permission_prompt"`)}, []string{"busy"}},
		{"a notice of idleness heals", "claude", []string{in("UserPromptSubmit", ""), in("Notification", `,"notification_type":"idle_prompt"`)}, []string{"busy", "idle"}},
		{"a sub-agent's end is none", "claude", []string{in("UserPromptSubmit", ""), in("Stop", `,"agent_id":"a1"`)}, []string{"busy"}},
		{"the end", "claude", []string{in("SessionEnd", `,"reason":"prompt_input_exit"`)}, []string{"stopping prompt_input_exit"}},
		{"an interrupt", "codex", []string{in("UserPromptSubmit", ""), in("Interrupt", "")}, []string{"busy", "idle interrupted"}},
		{"other names", "gemini", []string{in("BeforeAgent", ""), in("AfterAgent", "")}, []string{"busy", "idle done"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, runHooks(t, c.cli, nil, c.inputs...).words()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReportOfATurn checks what is reported about a turn.
func TestReportOfATurn(t *testing.T) {
	t.Parallel()
	e := runHooks(t, "claude", nil,
		`{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"  fix it\n"}`,
		`{"session_id":"s1","hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"t9"}`,
		`{"session_id":"s1","hook_event_name":"Stop","background_tasks":[{"id":1},{"id":2}]}`,
		`{"session_id":"s1","hook_event_name":"PostCompact"}`,
		`{"session_id":"s1","hook_event_name":"SessionStart","source":"compact"}`,
	)
	if got := e.life[0].Metadata; got.PromptHash != worker.PromptHash(" fix\n\tit ") || got.ConversationID != "s1" {
		t.Errorf("the prompt is reported as %+v", got)
	}
	if got := e.life[1].Metadata.Background; got != 2 {
		t.Errorf("%d tasks in the background, want 2", got)
	}
	if len(e.events) != 2 || e.events[0].ToolsCalled[0].CallID != "t9" || e.events[1].Type != worker.Compacted {
		t.Errorf("telemetry: %+v", e.events)
	}
}

// TestUsageIsReportedOnce checks that the usage of an interrupted turn is reported with the next
// turn, and nothing twice.
func TestUsageIsReportedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "s1.jsonl")
	line := func(id, text string) string {
		return `{"type":"assistant","timestamp":"2026-11-21T10:00:00Z","message":{"id":"` + id + `","model":"m","content":[{"type":"text","text":"` + text + `"}],"usage":{"input_tokens":10,"output_tokens":2}}}` + "\n"
	}
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	stop := func(last string) []string {
		t.Helper()
		e := runHooks(t, "claude", map[string]string{hookrunner.VariableFolder: dir},
			`{"session_id":"s1","hook_event_name":"Stop","transcript_path":"`+path+`","last_assistant_message":"`+last+`"}`)
		var ids []string
		for _, ev := range e.events {
			ids = append(ids, ev.MessageID)
		}
		return ids
	}
	write(line("m1", "one") + line("m1", "one") + line("m2", "two"))
	if got := stop("two"); !slices.Equal(got, []string{"m1", "m2"}) {
		t.Errorf("reported %v", got)
	}
	write(line("m3", "three") + line("m4", "fo")[:30])
	if got := stop("three"); !slices.Equal(got, []string{"m3"}) {
		t.Errorf("reported %v, want what is complete and new", got)
	}
	write(line("m0", "past")[:10])
	runHooks(t, "claude", map[string]string{hookrunner.VariableFolder: dir}, `{"hook_event_name":"SessionStart","source":"resume","transcript_path":"`+path+`"}`)
	other := t.TempDir()
	env := map[string]string{hookrunner.VariableFolder: other}
	e := runHooks(t, "claude", env, `{"hook_event_name":"SessionStart","source":"resume","transcript_path":"`+path+`"}`, `{"hook_event_name":"Stop","transcript_path":"`+path+`"}`)
	if len(e.events) > 0 {
		t.Errorf("a conversation that was resumed reports its past: %v", e.events)
	}
	if err := os.WriteFile(path, []byte(line("m5", "five")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := stop("five"); !slices.Equal(got, []string{"m5"}) {
		t.Errorf("%v was reported of a file that was rewritten", got)
	}
}

// TestHookWaitsForTheTranscript checks that the hook waits until the transcript has the end of the
// turn.
func TestHookWaitsForTheTranscript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "s1.jsonl")
	prompt := `{"type":"user","message":{"role":"user","content":"say done"}}` + "\n"
	if err := os.WriteFile(path, []byte(prompt), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := &requestRecorder{}
	c := newCity(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lifecycle" { // the turn is reported: now its last words are written
			text := prompt + `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":1}}}` + "\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		e.ServeHTTP(w, r)
	})
	hookrunner.Run(ctx, hookrunner.Call{
		Args:   []string{"--for", "claude", "Stop"},
		Stdin:  strings.NewReader(`{"hook_event_name":"Stop","transcript_path":"` + path + `","last_assistant_message":"done"}`),
		Stdout: io.Discard, Stderr: io.Discard,
		Getenv: func(name string) string {
			return map[string]string{"GC_WORKER_SOCKET": c.socket, "GC_WORKER_TOKEN": "x", "GC_RUN_ID": "x", hookrunner.VariableFolder: dir}[name]
		},
	})
	if len(e.events) != 1 || e.events[0].MessageID != "m1" {
		t.Errorf("reported %+v", e.events)
	}
}

// TestUsageIsReportedByAnotherProcess checks that the agent CLI does not wait for the report of the
// usage: another process sends it, or the hook itself if no process can be started.
func TestUsageIsReportedByAnotherProcess(t *testing.T) {
	transcript := filepath.Join(t.TempDir(), "t.jsonl")
	line := `{"type":"assistant","message":{"id":"m1","model":"m","usage":{"input_tokens":5,"output_tokens":7}}}` + "\n"
	if err := os.WriteFile(transcript, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := fmt.Sprintf(`{"hook_event_name":"Stop","session_id":"s1","transcript_path":%q}`, transcript)
	for _, spawns := range []bool{true, false} {
		e := &requestRecorder{}
		c := newCity(t, e.ServeHTTP)
		dir := t.TempDir()
		call := hookrunner.Call{Args: []string{"--for", "claude", "--within", "10s", "Stop"}, Stdin: strings.NewReader(stop), Stdout: io.Discard, Stderr: io.Discard}
		call.Getenv = func(name string) string {
			return map[string]string{"GC_WORKER_SOCKET": c.socket, "GC_WORKER_TOKEN": "x", "GC_RUN_ID": "x", hookrunner.VariableFolder: dir}[name]
		}
		var left []string
		var input []byte
		call.Later = func(args []string, told []byte) error {
			left, input = args, told
			if !spawns {
				return errors.New("no processes any more")
			}
			return nil
		}
		if status := hookrunner.Run(t.Context(), call); status != 0 {
			t.Fatalf("status %d", status)
		}
		if len(e.life) != 1 || e.life[0].Event != worker.Idle || (len(e.events) == 0) != spawns {
			t.Fatalf("the hook reported %+v, %+v", e.life, e.events)
		}
		if !spawns {
			continue
		}
		call.Args, call.Stdin, call.Later = left, bytes.NewReader(input), nil
		if status := hookrunner.Run(t.Context(), call); status != 0 || len(e.life) != 1 || len(e.events) != 1 || e.events[0].MessageID != "m1" {
			t.Errorf("afterwards status %d, reported %+v, %+v", status, e.life, e.events)
		}
	}
	var stderr strings.Builder
	if status := hookrunner.Run(t.Context(), hookrunner.Call{Args: []string{"--for", "claude", "--afterwards", "PreToolUse"}, Stdin: strings.NewReader(stop), Stdout: io.Discard, Stderr: &stderr, Getenv: func(string) string { return "" }}); status != agentcli.HookBlocked {
		t.Errorf("a decision afterwards ends with %d: %s", status, stderr.String())
	}
}

// TestTurnThatIsWrittenLate checks that the last response of a turn is reported with that turn even
// if the transcript has it seconds later.
func TestTurnThatIsWrittenLate(t *testing.T) {
	t.Parallel()
	transcript := filepath.Join(t.TempDir(), "t.jsonl")
	stop := fmt.Sprintf(`{"hook_event_name":"Stop","session_id":"s1","transcript_path":%q,"last_assistant_message":"it is done"}`, transcript)
	e := &requestRecorder{}
	c := newCity(t, e.ServeHTTP)
	env := map[string]string{"GC_WORKER_SOCKET": c.socket, "GC_WORKER_TOKEN": "x", "GC_RUN_ID": "x", hookrunner.VariableFolder: t.TempDir()}
	written := make(chan error, 1)
	time.AfterFunc(1500*time.Millisecond, func() { // a hook that is waited for gives up after 1 s
		line := `{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":"it is done"}],"usage":{"input_tokens":5,"output_tokens":7}}}` + "\n"
		written <- os.WriteFile(transcript, []byte(line), 0o600)
	})
	status := hookrunner.Run(t.Context(), hookrunner.Call{
		Args: []string{"--for", "claude", "--afterwards", "Stop"}, Stdin: strings.NewReader(stop), Stdout: io.Discard, Stderr: io.Discard,
		Getenv: func(name string) string { return env[name] },
	})
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if status != 0 || len(e.events) != 1 || e.events[0].MessageID != "m1" {
		t.Errorf("status %d, reported %+v", status, e.events)
	}
}

// TestReportsDoNotBlockTheAgent checks that an event that only reports does not block the agent if
// there is no city.
func TestReportsDoNotBlockTheAgent(t *testing.T) {
	t.Parallel()
	cli, _ := agentcli.LookupHooks("claude")
	for _, e := range cli.Events {
		if e.Decides() {
			continue
		}
		got := call(t, command(t, cli, e.Name, "200ms"), []string{asHook + "=1", "GC_WORKER_SOCKET=/gone", "GC_WORKER_TOKEN=x", "GC_RUN_ID=x"}, strings.NewReader(`{"source":"startup"}`))
		if got.status != 0 || got.stdout != "" {
			t.Errorf("%s: status %d, stdout %q", e.Name, got.status, got.stdout)
		}
	}
}

// TestLostOffsetsReportNoEarlierRun checks what is reported after the file with the offsets of the
// transcripts was lost: the usage of this run again, which the city counts once, and nothing of an
// earlier run.
func TestLostOffsetsReportNoEarlierRun(t *testing.T) {
	t.Parallel()
	var told []string
	socket := newCity(t, func(w http.ResponseWriter, r *http.Request) {
		var body worker.Telemetry
		if r.URL.Path == "/telemetry" && json.NewDecoder(r.Body).Decode(&body) == nil {
			for _, e := range body.Events {
				told = append(told, e.MessageID)
			}
		}
		fmt.Fprint(w, "{}")
	}).socket
	dir := t.TempDir()
	transcript := filepath.Join(dir, "t.jsonl")
	more := `,"transcript_path":"` + transcript + `"`
	text := ""
	turn := func(id string) {
		text += `{"type":"assistant","message":{"id":"` + id + `","model":"m","usage":{"input_tokens":1,"output_tokens":1}}}` + "\n"
		if err := os.WriteFile(transcript, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fire(t, socket, dir, "Stop", more)
	}
	lose := func() {
		if err := os.Remove(filepath.Join(dir, "read.json")); err != nil {
			t.Fatal(err)
		}
	}
	fire(t, socket, dir, "SessionStart", `,"source":"startup"`+more)
	turn("one")
	lose()
	turn("two")
	fire(t, socket, dir, "SessionStart", `,"source":"resume"`+more)
	turn("three")
	lose()
	turn("four")
	if want := []string{"one", "one", "two", "three", "three", "four"}; !slices.Equal(told, want) {
		t.Errorf("reported were %v, want %v", told, want)
	}
}
