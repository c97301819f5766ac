package daemon

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

// TestWhatAnAgentLeaksIsNeitherKeptNorShown has agents that print their
// credentials and die, as agent CLIs do that do not like one: one from the
// controller's environment, one that is written in the configuration, and one
// that is wider than the terminal. What a session printed is recorded as it was,
// and nothing else holds them.
func TestWhatAnAgentLeaksIsNeitherKeptNorShown(t *testing.T) {
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
