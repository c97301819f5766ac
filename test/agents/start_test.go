package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/test/agents/bed"
)

// TestStartUpDialogs starts each CLI in a home in which every dialog comes up: each is
// answered as it must be, and the agent takes its first prompt (R9). What was chosen is
// read from what the CLI stored.
func TestStartUpDialogs(t *testing.T) {
	together(t)
	for _, name := range driven("claude", "gemini", "codex", "opencode", "pi") {
		t.Run(name, func(t *testing.T) {
			together(t)
			began := time.Now()
			c := bed.Open(t, "pty", bed.Member{Name: "new", CLI: name, Seeds: bed.Fresh})
			a := of(t, c, "new")
			owes(t, a.found, "dialogs")
			a.ready()
			a.primed()
			chosen := "none came up"
			switch name {
			case "claude":
				claudeChose(t, c.Seats["new"])
				chosen = "trust (No first), API key (No first) and bypass (No first) answered right"
			case "codex":
				config, err := os.ReadFile(filepath.Join(c.Seats["new"].Home, ".codex", "config.toml"))
				if err != nil || !strings.Contains(string(config), fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"", c.Seats["new"].Work)) {
					t.Errorf("the folder is not trusted: %v\n%s", err, config)
				}
				chosen = "folder access of a repository with its own configuration"
			case "gemini":
				chosen = "folder trust with its restart, authentication and its form"
			}
			s, err := c.Client.Session(t.Context(), "new")
			if err != nil || s.Restarts > 0 || s.Warning != "" {
				t.Errorf("%s was started again %d times, with the warning %q: %v", name, s.Restarts, s.Warning, err)
			}
			note(t, a.found, "dialogs", "%s; first prompt taken %.1f s after gc start", chosen, time.Since(began).Seconds())
			closed(a)
		})
	}
}

// claudeChose reads the answers to the three dialogs.
func claudeChose(t *testing.T, seat bed.Seat) {
	t.Helper()
	var state struct {
		Keys struct {
			Approved []string `json:"approved"`
			Rejected []string `json:"rejected"`
		} `json:"customApiKeyResponses"`
		Projects map[string]struct {
			Trusted bool `json:"hasTrustDialogAccepted"`
		} `json:"projects"`
	}
	read(t, filepath.Join(seat.Home, ".claude", ".claude.json"), &state)
	if len(state.Keys.Approved) != 1 || !endsIn(bed.Key, state.Keys.Approved[0]) || len(state.Keys.Rejected) > 0 {
		t.Errorf("the API key was not approved: %+v", state.Keys)
	}
	if !state.Projects[seat.Work].Trusted {
		t.Errorf("the folder is not trusted: %+v", state.Projects)
	}
	var settings struct {
		Skip bool `json:"skipDangerousModePermissionPrompt"`
	}
	read(t, filepath.Join(seat.Home, ".claude", "settings.json"), &settings)
	if !settings.Skip {
		t.Error("the bypass of permissions was not accepted")
	}
}

func read(t *testing.T, path string, v any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		t.Error(err)
	}
}

// closed stops the city and looks for what is left of its agents.
func closed(a *agent) time.Duration {
	a.t.Helper()
	began := time.Now()
	out, err := a.Run(a.t.Context(), "stop")
	took := time.Since(began)
	if err != nil {
		a.t.Errorf("gc stop: %v\n%s", err, out)
	}
	left, known := bed.Left(a.Root)
	if !known {
		return took
	}
	if len(left) > 0 {
		a.t.Errorf("%s: gc stop left processes behind: %v\n%s", a.name, left, out)
	}
	if hosts := a.Wire.Hosts(); len(hosts) > 0 {
		a.t.Logf("%s tried to reach %v", a.found.Name, hosts)
	}
	return took
}

// endsIn reports whether the key ends in what Claude keeps of it.
func endsIn(key, kept string) bool { return kept != "" && strings.HasSuffix(key, kept) }
