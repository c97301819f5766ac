package app

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/config"
	"gascity/worker"
)

// TestPrintedCredentialsAreNeitherStoredNorShown has agents that print a credential and exit: one
// from the controller's environment, one from city.toml, and one that is wider than the terminal.
// It checks that only the recording of the terminal has them.
func TestPrintedCredentialsAreNeitherStoredNorShown(t *testing.T) {
	wide := "wide-canary-" + strings.Repeat("0123456789", 20)
	canaries := []string{"sk-canary-0123456789abcdef", "written-canary-0123456789", wide}
	d := newDaemon(t, "ANTHROPIC_API_KEY="+canaries[0], "ANTHROPIC_AUTH_TOKEN="+wide)
	root := newCity(t, `
[workspace]
name = "town"
[daemon]
shutdown_timeout = "200ms"
[[agents]]
name = "leak"
start_command = "sleep 0.3; echo \"invalid api key: $ANTHROPIC_API_KEY $WRITTEN_KEY\"; echo \"$ANTHROPIC_AUTH_TOKEN\"; sleep 0.3; exit 1"
env = { WRITTEN_KEY = "written-canary-0123456789" }
`)
	r := runController(t, d, root)
	r.until("leak", "failed", func(a client.Agent) bool { return a.Exit != "" })
	clean := func(what string, text []byte) {
		t.Helper()
		for _, canary := range canaries {
			// a terminal breaks lines, JSON writes the breaks as \n
			if unbroken := bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\n"), nil), []byte(`\n`), nil); bytes.Contains(unbroken, []byte(canary)) {
				t.Errorf("%s holds %.16s...: %.2000s", what, canary, text)
			}
		}
	}
	shown := func(what string, answer any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		clean(what, text)
	}
	e, err := r.client.Explain(t.Context(), "leak")
	shown("explain", e, err)
	if !strings.Contains(e.LastScreen+e.Output, "invalid api key: ********") {
		t.Errorf("explain does not show what the agent said: %q", e.LastScreen+e.Output)
	}
	s, err := r.client.Session(t.Context(), "leak")
	shown("session", s, err)
	status, err := r.client.Status(t.Context())
	shown("status", status, err)
	page, err := r.client.PastEvents(t.Context(), 0)
	shown("events", page, err)
	r.stopCity()
	raw := 0
	err = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "city.toml" {
			return err
		}
		data, err := os.ReadFile(path)
		if e.Name() == "gc-town-leak.log" {
			raw++
			return err
		}
		clean(path, data)
		return err
	})
	if err != nil || raw == 0 {
		t.Errorf("the city's files cannot be looked through: %v, %d recordings", err, raw)
	}
}

// TestTokensOfARunAreMaskedWhereverTheyAreQuoted has an agent that prints its environment, asks a
// question and uses a tool, each with its tokens. It checks, while the agent runs, after its exit
// and after a kill, that no answer of either API, no event, no file and no support bundle has a
// token. What is sent to the agent, and the recording of its terminal, are exact.
func TestTokensOfARunAreMaskedWhereverTheyAreQuoted(t *testing.T) {
	d := newDaemon(t)
	said := filepath.Join(t.TempDir(), "said")
	root := newCity(t, `
[workspace]
name = "town"
[daemon]
shutdown_timeout = "200ms"
[guard]
default = "allow"
[[agents]]
name = "leak"
start_command = "echo \"$GC_WORKER_TOKEN $GC_INSTANCE_TOKEN\"; echo \"$GC_WORKER_SOCKET $GC_RUN_ID $GC_WORKER_TOKEN $GC_INSTANCE_TOKEN\" > `+said+`.new; mv `+said+`.new `+said+`; sleep 300"
`)
	r := runController(t, d, root)
	r.until("leak", "running", func(a client.Agent) bool {
		_, err := os.Stat(said)
		return isRunning(a) && err == nil
	})
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(text))
	if len(words) != 4 {
		t.Fatalf("the agent was given %d of 4 variables", len(words))
	}
	tokens := words[2:]
	clean := func(what string, text []byte) {
		t.Helper()
		flat := strings.NewReplacer("\n", "", "\r", "", `\n`, "", `\r`, "").Replace(string(text))
		for _, token := range tokens {
			if at := strings.Index(flat, token); at >= 0 {
				t.Errorf("%s holds %.6s...: %.200s", what, token, flat[max(0, at-100):])
			}
		}
	}
	shown := func(what string, answer any, err error) {
		t.Helper()
		text, _ := json.Marshal(answer)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		clean(what, text)
	}
	quoted := "may I use " + strings.Join(tokens, " and ") + "?"
	w := &worker.Client{Socket: words[0], RunID: words[1], Token: words[2]}
	defer w.Close()
	input, err := json.Marshal(map[string]string{"command": "echo " + quoted})
	if err != nil {
		t.Fatal(err)
	}
	decision, err := w.Authorize(t.Context(), worker.Call{Tool: "Bash", Input: input})
	shown("a decision", decision, err)
	asked, err := w.Interaction(t.Context(), worker.Interaction{Event: worker.Raised, ID: "q1", Kind: "question", Text: quoted, Tool: "Bash", Input: input, FreeText: true})
	shown("a question", asked, err)
	look := func(when string) {
		t.Helper()
		pending, err := r.client.Pending(t.Context(), "", client.WithEnded)
		shown(when+": pending", pending, err)
		explain, err := r.client.Explain(t.Context(), "leak")
		shown(when+": explain", explain, err)
		session, err := r.client.Session(t.Context(), "leak")
		shown(when+": session", session, err)
		status, err := r.client.Status(t.Context())
		shown(when+": status", status, err)
		events, err := r.client.PastEvents(t.Context(), 0)
		shown(when+": events", events, err)
		peek, err := r.client.Peek(t.Context(), "leak", 0)
		shown(when+": peek", peek, err)
		logs, err := r.client.Logs(t.Context(), "leak", client.LogQuery{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(logs)
		_ = logs.Close()
		shown(when+": logs", string(text), err)
		if !strings.Contains(string(text), config.Masked) {
			t.Errorf("%s: the log does not show that something was printed: %q", when, text)
		}
		var bundle bytes.Buffer
		_, err = d.Bundle(t.Context(), root, &bundle)
		shown(when+": bundle", nil, err)
		plain, err := gzip.NewReader(&bundle)
		if err != nil {
			t.Fatal(err)
		}
		text, err = io.ReadAll(plain)
		shown(when+": bundle", string(text), err)
	}
	r.until("leak", "asking", func(a client.Agent) bool { return a.Pending > 0 })
	look("while it lives")
	if _, err := r.client.Kill(t.Context(), "leak", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	r.until("leak", "running again", isRunning)
	look("after its end")
	r.stopCity()
	for _, token := range tokens {
		if d.Redactor(t.Context(), root).Text(token) != config.Masked {
			t.Errorf("%.6s... is not known by its form", token)
		}
	}
	recorded := false
	err = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if e.Name() == "gc-town-leak.log" {
			recorded = bytes.Contains(data, []byte(tokens[1]))
			return err
		}
		clean(path, data)
		return err
	})
	if err != nil || !recorded {
		t.Errorf("the city's files cannot be looked through: %v; the terminal's recording is exact: %v", err, recorded)
	}
}
