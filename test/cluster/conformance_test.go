package cluster_test

import (
	"strings"
	"sync"
	"testing"

	"gascity/internal/agentcli"
	"gascity/provider/k8s"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// The whole contract, in real pods. They see the folders and processes of this machine, so
// that the suite's own sight of the agents is that of a local driver.
func TestConformance(t *testing.T) {
	requireCluster(t)
	space(t)
	var mu sync.Mutex
	var all []*k8s.Provider
	harness := runtimetest.Harness{Patience: waitLimit, Agent: runtimetest.Program{
		Path: program("fakeagent"), Edit: func(cfg *runtime.Config, b runtimetest.Behaviour) {
			cfg.ProviderName = imitated()
			cfg.EmitsPermissionWarning = b.Dialog
		},
	}.Agent}
	harness.New = func(t runtimetest.T, dir string) runtime.Provider {
		cfg := config(dir)
		cfg.Template, cfg.Root = shared(), true
		p, err := k8s.Open(cfg)
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, p)
		return p
	}
	harness.Reopen = harness.New
	harness.Skip = map[string]string{
		"boundary.seen": "the driver inside the pod has no such extension", "boundary.timeout": "the same",
		"watch.slow": "it starts hundreds of sessions in the time of one pod's start",
	}
	results := runtimetest.Run(t, harness)
	for _, p := range all {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
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
