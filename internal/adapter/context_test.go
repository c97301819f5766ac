package adapter_test

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

	"gascity/internal/adapter"
	"gascity/worker"
)

// briefer is a city that has two sections for whoever claims them, and keeps what it is
// told.
type briefer struct {
	mu    sync.Mutex
	calls []string // paths, in order
	claim worker.ContextClaim
	acks  []worker.Ack
}

func (b *briefer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, _ := io.ReadAll(r.Body) // what is not read is missed
	b.calls = append(b.calls, r.URL.Path)
	switch r.URL.Path {
	case "/context/claim":
		json.Unmarshal(body, &b.claim) //nolint:errcheck // as above
		_ = json.NewEncoder(w).Encode(worker.Context{Sections: []worker.Section{
			{Type: "role", Content: "You \"mend\".\n\n[gc-aaaaaaaaaa]", Nonce: "gc-aaaaaaaaaa"}, {Type: "task", Content: "Begin.\n\n[gc-bbbbbbbbbb]", Nonce: "gc-bbbbbbbbbb"},
		}}) // the client says if it is cut off
		return
	case "/ack":
		var a worker.Ack
		json.Unmarshal(body, &a) //nolint:errcheck // as above
		b.acks = append(b.acks, a)
	}
	fmt.Fprint(w, "{}")
}

// fire has one event answered, by a session with a folder of its own.
func fire(t *testing.T, socket, dir, event, more string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	status := adapter.Run(t.Context(), adapter.Call{
		Args: []string{"--for", "claude", "--within", "20s", event}, Stdin: strings.NewReader(`{"session_id":"s1","hook_event_name":"` + event + `"` + more + `}`), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string {
			return map[string]string{"GC_WORKER_SOCKET": socket, "GC_WORKER_TOKEN": "x", "GC_RUN_ID": "x", adapter.VariableFolder: dir}[name]
		},
	})
	if status != 0 {
		t.Errorf("%s: status %d, %s", event, status, errs.String())
	}
	return out.String(), errs.String()
}

// TestContextGoesByTheAnswer: at every beginning the agent CLI is handed what the city has,
// in its own form and before the city hears of the agent; at the end of the turn the city
// hears which nonces stand in the transcript, and that once.
func TestContextGoesByTheAnswer(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"startup", "resume", "clear", "compact"} {
		b, dir := &briefer{}, t.TempDir()
		socket := newCity(t, b.ServeHTTP).socket
		transcript := filepath.Join(dir, "t.jsonl")
		out, _ := fire(t, socket, dir, "SessionStart", `,"source":"`+source+`","transcript_path":"`+transcript+`"`)
		var got struct {
			HookSpecificOutput struct{ HookEventName, AdditionalContext string }
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%s: %q: %v", source, out, err)
		}
		if o := got.HookSpecificOutput; o.HookEventName != "SessionStart" || o.AdditionalContext != "You \"mend\".\n\n[gc-aaaaaaaaaa]\n\nBegin.\n\n[gc-bbbbbbbbbb]" {
			t.Errorf("%s: the agent is told %q", source, out)
		}
		if b.calls[0] != "/context/claim" || b.claim.Source != worker.Beginning(source) || b.claim.ConversationID != "s1" || b.claim.Limit == 0 {
			t.Errorf("%s: the city was asked %v, %+v", source, b.calls, b.claim)
		}
		line, err := json.Marshal(map[string]string{"additionalContext": "You \"mend\".\n\n[gc-aaaaaaaaaa]"})
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
			t.Errorf("%s: the city heard %+v of the claim %s", source, b.acks, b.claim.ID)
		}
	}
}

// TestAStartDoesNotWaitForACity: a city that is not there, and one that never answers, cost
// an agent no more than the hook's time, and nothing is printed.
func TestAStartDoesNotWaitForACity(t *testing.T) {
	t.Parallel()
	stuck := newCity(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, socket := range map[string]string{"none": filepath.Join(t.TempDir(), "s"), "stuck": stuck.socket} {
		var out, errs strings.Builder
		began := time.Now()
		status := adapter.Run(t.Context(), adapter.Call{
			Args: []string{"--for", "claude", "--within", "1s", "SessionStart"}, Stdin: strings.NewReader(`{"session_id":"s1","hook_event_name":"SessionStart","source":"startup"}`), Stdout: &out, Stderr: &errs,
			Getenv: func(name string) string {
				return map[string]string{"GC_WORKER_SOCKET": socket, "GC_WORKER_TOKEN": "x", "GC_RUN_ID": "x", adapter.VariableFolder: t.TempDir()}[name]
			},
		})
		if took := time.Since(began); status != 0 || out.Len() > 0 || errs.Len() == 0 || took > 10*time.Second {
			t.Errorf("%s: status %d after %s, stdout %q, stderr %q", name, status, took, out.String(), errs.String())
		}
	}
}
