package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
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
			m := bed.Member{Name: "new", CLI: name, Seeds: bed.Fresh}
			if name == "codex" {
				m.TOML = `channel = "typed"` // beside its server it does not ask whether the folder is trusted
			}
			c := bed.Open(t, "pty", m)
			a := of(t, c, "new")
			recordOnFailure(t, a.found, "dialogs")
			a.ready()
			a.primed()
			chosen := "none came up"
			switch name {
			case "claude":
				claudeChose(t, c.Homes["new"])
				chosen = "trusted the folder, accepted the API key and accepted the bypass mode (in each dialog \"No\" was the first option)"
			case "codex":
				config, err := os.ReadFile(filepath.Join(c.Homes["new"].Home, ".codex", "config.toml"))
				if err != nil || !strings.Contains(string(config), fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"", c.Homes["new"].Work)) {
					t.Errorf("the folder is not trusted: %v\n%s", err, config)
				}
				chosen = "folder access of a repository with its own configuration"
			case "gemini":
				geminiChose(t, c.Homes["new"])
				chosen = "folder trust with its restart, authentication and its form for a key"
			}
			s, err := c.Client.Session(t.Context(), "new")
			if err != nil || s.Restarts > 0 || s.Warning != "" {
				t.Errorf("%s was started again %d times, with the warning %q: %v", name, s.Restarts, s.Warning, err)
			}
			if past, err := c.Client.PastEvents(t.Context(), 0); err != nil || strings.Contains(fmt.Sprint(past), bed.Key) {
				t.Errorf("the events name the key: %v", err)
			}
			logFigure(t, a.found, "dialogs", "%s; the first prompt was accepted %.1f s after gc start", chosen, time.Since(began).Seconds())
			closed(a)
		})
	}
}

// claudeChose reads the answers to the three dialogs.
func claudeChose(t *testing.T, seat bed.AgentHome) {
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

// geminiChose reads the answers to the two dialogs with a choice.
func geminiChose(t *testing.T, seat bed.AgentHome) {
	t.Helper()
	var trusted map[string]string
	read(t, filepath.Join(seat.Home, ".gemini", "trustedFolders.json"), &trusted)
	var settings struct {
		Security struct {
			Auth struct {
				Type string `json:"selectedType"`
			} `json:"auth"`
		} `json:"security"`
	}
	read(t, filepath.Join(seat.Home, ".gemini", "settings.json"), &settings)
	if trusted[seat.Work] != "TRUST_FOLDER" || settings.Security.Auth.Type != "gemini-api-key" {
		t.Errorf("the folder is %q, and the authentication %q", trusted, settings.Security.Auth.Type)
	}
}

// TestFormWithoutAnAnswer: a form that gc cannot fill in is never taken for an input box. It
// is a question, the start says what a person can do, and the first prompt is not lost in it.
func TestFormWithoutAnAnswer(t *testing.T) {
	together(t)
	for _, name := range driven("gemini") {
		t.Run(name, func(t *testing.T) {
			together(t)
			c := bed.Open(t, "pty", bed.Member{Name: "new", CLI: name, Seeds: bed.Fresh, Env: map[string]string{"GEMINI_API_KEY": ""}})
			a := of(t, c, "new")
			open, err := c.Client.Pending(t.Context(), "new", client.OnlyOpen)
			if err != nil || len(open) != 1 || !strings.Contains(open[0].Prompt, "Enter Gemini API Key") {
				t.Errorf("open are %+v: %v", open, err)
			}
			s, err := c.Client.Session(t.Context(), "new")
			if err != nil || !strings.Contains(s.Warning, "set GEMINI_API_KEY") || !strings.Contains(s.Warning, "prompt is refused") {
				t.Errorf("the warning is %q: %v", s.Warning, err)
			}
			if said := c.Model.Prompts("new"); len(said) > 0 {
				t.Errorf("the model received %+v", said)
			}
			closed(a)
		})
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
	left, known := bed.LeftProcesses(a.Root)
	if !known {
		return took
	}
	if len(left) > 0 {
		a.t.Errorf("%s: gc stop left processes behind: %v\n%s", a.name, left, out)
	}
	if hosts := a.Tripwire.Hosts(); len(hosts) > 0 {
		a.t.Logf("%s tried to reach %v", a.found.Name, hosts)
	}
	return took
}

// endsIn reports whether the key ends in what Claude keeps of it.
func endsIn(key, kept string) bool { return kept != "" && strings.HasSuffix(key, kept) }
