package far_test

import (
	"strings"
	"sync"
	"testing"

	"gascity/internal/agentcli"
	"gascity/provider/ssh"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/test/fakeagent/build"
)

// TestConformance runs the whole contract over a real sshd.
func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, newSSHServer(t, options{}), nil)
}

// conform runs the cases but those that are skipped.
func conform(t *testing.T, f *sshServer, skip map[string]string) {
	t.Helper()
	var mu sync.Mutex
	var open []*ssh.Provider
	harness := runtimetest.Harness{Agent: runtimetest.Program{
		Path: build.Build(t), Edit: func(cfg *runtime.Config, b runtimetest.Behaviour) {
			cfg.ProviderName = imitated()
			cfg.EmitsPermissionWarning = b.Dialog
		},
	}.Agent}
	harness.New = func(t runtimetest.T, dir string) runtime.Provider {
		p, err := ssh.Open(f.config(dir))
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		mu.Lock()
		open = append(open, p)
		mu.Unlock()
		return p
	}
	harness.Reopen, harness.Skip, harness.Patience = harness.New, skip, waitLimit
	results := runtimetest.Run(t, harness)
	for _, p := range open {
		p.Close()
	}
	count := map[runtimetest.Status]int{}
	for _, r := range results {
		if count[r.Status]++; r.Status == runtimetest.NotApplicable {
			t.Logf("%s is not applicable: %s", r.ID, strings.Join(r.Detail, " "))
		}
	}
	t.Logf("%v of %d cases", count, len(results))
}

// imitated returns the agent CLI that the fake agent looks like.
func imitated() string {
	profiles := agentcli.Builtin()
	for _, name := range profiles.Names() {
		if p, ok := profiles.Lookup(name); ok && len(p.Dialogs) > 0 && strings.HasPrefix(p.ReadyPromptPrefix, "❯") {
			return name
		}
	}
	return agentcli.Generic
}
