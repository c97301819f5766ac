package hookrunner_test

import (
	"encoding/json"
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

	"gascity/internal/hookrunner"
	"gascity/worker"
)

// contextServer is a city that has two sections for every claim, and keeps the reports.
type contextServer struct {
	mu    sync.Mutex
	calls []string // paths, in order
	claim worker.ContextClaim
	acks  []worker.Ack
}

func (b *contextServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, _ := io.ReadAll(r.Body) // what is not read is missed
	b.calls = append(b.calls, r.URL.Path)
	switch r.URL.Path {
	case "/context/claim":
		json.Unmarshal(body, &b.claim) //nolint:errcheck // as above
		_ = json.NewEncoder(w).Encode(worker.Context{Sections: []worker.Section{
			{Type: "role", Content: "You \"repair\".\n\n[gc-aaaaaaaaaa]", Nonce: "gc-aaaaaaaaaa"}, {Type: "task", Content: "Begin.\n\n[gc-bbbbbbbbbb]", Nonce: "gc-bbbbbbbbbb"},
		}}) // the client says if it is cut off
		return
	case "/ack":
		var a worker.Ack
		json.Unmarshal(body, &a) //nolint:errcheck // as above
		b.acks = append(b.acks, a)
	}
	fmt.Fprint(w, "{}")
}

// fire runs the hook of an event in a session with its own directory.
func fire(t *testing.T, socket, dir, event, more string) (stdout, stderr string) {
	t.Helper()
	return fireOf(t, "claude", socket, dir, event, more)
}

// fireOf does what fire does for another agent CLI.
func fireOf(t *testing.T, cli, socket, dir, event, more string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	status := hookrunner.Run(t.Context(), hookrunner.Call{
		Args: []string{"--for", cli, "--within", "20s", event}, Stdin: strings.NewReader(`{"session_id":"s1","hook_event_name":"` + event + `"` + more + `}`), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string {
			return map[string]string{"GC_WORKER_SOCKET": socket, "GC_WORKER_TOKEN": "x", "GC_RUN_ID": "x", hookrunner.VariableFolder: dir}[name]
		},
	})
	if status != 0 {
		t.Errorf("%s: status %d, %s", event, status, errs.String())
	}
	return out.String(), errs.String()
}

// TestContextIsInTheAnswerOfTheHook checks that, at each start of a conversation, the agent CLI gets the city's context in its
// own form, before the city gets the report of the start, and that the city gets the nonces of the transcript once at the end of
// the turn.
func TestContextIsInTheAnswerOfTheHook(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"startup", "resume", "clear", "compact"} {
		b, dir := &contextServer{}, t.TempDir()
		socket := newCity(t, b.ServeHTTP).socket
		transcript := filepath.Join(dir, "t.jsonl")
		out, _ := fire(t, socket, dir, "SessionStart", `,"source":"`+source+`","transcript_path":"`+transcript+`"`)
		var got struct {
			HookSpecificOutput struct{ HookEventName, AdditionalContext string }
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%s: %q: %v", source, out, err)
		}
		if o := got.HookSpecificOutput; o.HookEventName != "SessionStart" || o.AdditionalContext != "You \"repair\".\n\n[gc-aaaaaaaaaa]\n\nBegin.\n\n[gc-bbbbbbbbbb]" {
			t.Errorf("%s: the agent receives %q", source, out)
		}
		if b.calls[0] != "/context/claim" || b.claim.Source != worker.Beginning(source) || b.claim.ConversationID != "s1" || b.claim.Limit == 0 {
			t.Errorf("%s: the city was asked %v, %+v", source, b.calls, b.claim)
		}
		line, err := json.Marshal(map[string]string{"additionalContext": "You \"repair\".\n\n[gc-aaaaaaaaaa]"})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(transcript, line, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			fire(t, socket, dir, "Stop", `,"transcript_path":"`+transcript+`"`)
		}
		if len(b.acks) != 1 || b.acks[0].ID != b.claim.ID || b.acks[0].State != worker.Consumed || !slices.Equal(b.acks[0].Nonces, []string{"gc-aaaaaaaaaa"}) {
			t.Errorf("%s: the city received %+v of the claim %s", source, b.acks, b.claim.ID)
		}
	}
}

// TestTurnOfAnOlderConversation checks that the end of a turn of an older conversation, which may be reported late, does not
// acknowledge the context of a newer one.
func TestTurnOfAnOlderConversation(t *testing.T) {
	t.Parallel()
	b, dir := &contextServer{}, t.TempDir()
	socket := newCity(t, b.ServeHTTP).socket
	older, transcript := filepath.Join(dir, "older.jsonl"), filepath.Join(dir, "t.jsonl")
	for path, text := range map[string]string{older: "{}", transcript: `"[gc-aaaaaaaaaa]"`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fire(t, socket, dir, "SessionStart", `,"source":"clear","transcript_path":"`+transcript+`"`)
	fire(t, socket, dir, "Stop", `,"session_id":"s0","transcript_path":"`+older+`"`)
	if len(b.acks) != 0 {
		t.Errorf("the city received %+v at the end of the older conversation's turn", b.acks)
	}
	fire(t, socket, dir, "Stop", `,"transcript_path":"`+transcript+`"`)
	if len(b.acks) != 1 || b.acks[0].ID != b.claim.ID || !slices.Equal(b.acks[0].Nonces, []string{"gc-aaaaaaaaaa"}) {
		t.Errorf("the city received %+v of the claim %s", b.acks, b.claim.ID)
	}
}

// TestStartDoesNotWaitForTheCity checks that a city that does not exist or does not answer delays an agent no longer than the
// time of the hook, and that nothing is printed.
func TestStartDoesNotWaitForTheCity(t *testing.T) {
	t.Parallel()
	stuck := newCity(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, socket := range map[string]string{"none": filepath.Join(t.TempDir(), "s"), "stuck": stuck.socket} {
		var out, errs strings.Builder
		began := time.Now()
		status := hookrunner.Run(t.Context(), hookrunner.Call{
			Args: []string{"--for", "claude", "--within", "1s", "SessionStart"}, Stdin: strings.NewReader(`{"session_id":"s1","hook_event_name":"SessionStart","source":"startup"}`), Stdout: &out, Stderr: &errs,
			Getenv: func(name string) string {
				return map[string]string{"GC_WORKER_SOCKET": socket, "GC_WORKER_TOKEN": "x", "GC_RUN_ID": "x", hookrunner.VariableFolder: t.TempDir()}[name]
			},
		})
		if took := time.Since(began); status != 0 || out.Len() > 0 || errs.Len() == 0 || took > 10*time.Second {
			t.Errorf("%s: status %d after %s, stdout %q, stderr %q", name, status, took, out.String(), errs.String())
		}
	}
}

// TestContextIsSentWithThePrompt checks an agent CLI that accepts context only with a prompt: it gets the context with the next
// prompt, once. A compaction, for which it calls no hook, is found in its transcript, once although it is there twice. The city
// gets the nonces at the end of that turn.
func TestContextIsSentWithThePrompt(t *testing.T) {
	t.Parallel()
	b, dir := &contextServer{}, t.TempDir()
	socket := newCity(t, b.ServeHTTP).socket
	transcript := filepath.Join(dir, "t.jsonl")
	write := func(text string) {
		f, err := os.OpenFile(transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text + "\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	calls := func(event, more string) string {
		out, _ := fireOf(t, "gemini", socket, dir, event, more+`,"transcript_path":"`+transcript+`"`)
		return out
	}
	compacted := func(id string) string {
		return `{"$set":{"messages":[{"id":"s-` + id + `","type":"user","content":[{"text":"a summary"}]},{"id":"` + id + `","type":"gemini","content":[{"text":"Got it. Thanks for the additional context!"}]}]}}`
	}
	write(compacted("former"))
	for _, step := range []struct {
		name, event, more, writes string
		told                      bool
		source                    worker.Beginning // that was claimed
		acks                      int              // so far
	}{
		{"it is taken up again", "SessionStart", `,"source":"resume"`, compacted("former"), false, worker.BeganResumed, 0},
		{"a turn ends that had begun before", "AfterAgent", "", "", false, worker.BeganResumed, 0},
		{"a prompt", "BeforeAgent", `,"prompt":"one"`, "", true, worker.BeganResumed, 0},
		{"its end", "AfterAgent", "", `{"id":"m","content":"[gc-aaaaaaaaaa]"}`, false, worker.BeganResumed, 1},
		{"another prompt", "BeforeAgent", `,"prompt":"two"`, compacted("later"), true, worker.BeganCompacted, 1},
		{"one more", "BeforeAgent", `,"prompt":"three"`, compacted("later"), false, worker.BeganCompacted, 1},
		{"the end", "AfterAgent", "", "", false, worker.BeganCompacted, 2},
		{"nothing new", "BeforeAgent", `,"prompt":"four"`, "", false, worker.BeganCompacted, 2},
	} {
		if step.writes != "" {
			write(step.writes)
		}
		out := calls(step.event, step.more)
		if told := strings.Contains(out, `"hookEventName":"BeforeAgent"`) && strings.Contains(out, "[gc-bbbbbbbbbb]"); told != step.told || !told && out != "" {
			t.Errorf("%s: the agent receives %q", step.name, out)
		}
		if b.claim.Source != step.source || len(b.acks) != step.acks {
			t.Errorf("%s: claimed was %q, acknowledged %+v", step.name, b.claim.Source, b.acks)
		}
	}
	if len(b.acks) > 0 && !slices.Equal(b.acks[0].Nonces, []string{"gc-aaaaaaaaaa"}) {
		t.Errorf("the city received %+v", b.acks)
	}
}

// TestStartWithoutACityIsReportedLater checks that a compaction or a start during which no city answered is reported later, by
// the same claim, and that nothing of it is acknowledged.
func TestStartWithoutACityIsReportedLater(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"clear", "compact"} {
		b, dir := &contextServer{}, t.TempDir()
		transcript := filepath.Join(dir, "t.jsonl")
		if err := os.WriteFile(transcript, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		more := `,"transcript_path":"` + transcript + `"`
		for range 2 { // a late one reports the last one
			if out, errs := fire(t, filepath.Join(dir, "none"), dir, "SessionStart", `,"source":"`+source+`"`+more); out != "" || errs == "" {
				t.Errorf("%s: without a city the agent receives %q, %q", source, out, errs)
			}
		}
		socket := newCity(t, b.ServeHTTP).socket
		for range 2 {
			if out, _ := fire(t, socket, dir, "Stop", more); out != "" {
				t.Errorf("%s: the end of a turn says %q", source, out)
			}
		}
		claims := 0
		for _, path := range b.calls {
			if path == "/context/claim" {
				claims++
			}
		}
		if claims != 1 || b.claim.Source != worker.Beginning(source) || len(b.acks) != 2 || b.acks[1].ID != b.claim.ID || len(b.acks[1].Nonces) != 0 {
			t.Errorf("%s: the city received %d claims, the last %+v, and %+v", source, claims, b.claim, b.acks)
		}
	}
}
