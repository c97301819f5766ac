package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/guard"
)

const guardedCity = `
[workspace]
name = "town"
[daemon]
tick_debounce = "50ms"
[guard]
sets = ["dangerous-command"]
files = ["ours.toml"]
[guard.roles.crew]
sets = ["read-only"]
[[agents]]
name = "crew"
dir = "shop"
start_command = "sleep 1000"
suspended = true
env = { HOME = "/home/crew" }
[agents.pool]
max = 2
`

// TestInvalidRuleFileKeepsThePreviousRules edits a file with rules while a controller runs, and
// checks that a mistake is reported and that the previous rules stay.
func TestInvalidRuleFileKeepsThePreviousRules(t *testing.T) {
	root := newCity(t, guardedCity)
	file := filepath.Join(root, "ours.toml")
	write(t, file, "[[rules]]\nid = 'a'\naction = 'deny'\ncommands = ['terraform']\n")
	r := runController(t, newDaemon(t), root)
	untilPlan := func(what string, is func(fault string) bool) {
		t.Helper()
		deadline, look := time.After(patience), time.NewTicker(20*time.Millisecond)
		defer look.Stop()
		for {
			status, err := r.client.Status(t.Context())
			if err == nil && is(status.Plan.Error) {
				return
			}
			select {
			case <-look.C:
			case <-deadline:
				t.Fatalf("the plan never was %s; it is %+v, %v", what, status.Plan, err)
			}
		}
	}
	untilPlan("fine", func(fault string) bool { return fault == "" })
	write(t, file, "[[rules]]\nid = 'a'\naction = 'dny'\ncommands = ['terraform']\n")
	untilPlan("faulty", func(fault string) bool { return strings.Contains(fault, `ours.toml:1:1: rule "a": action "dny"`) })
	write(t, file, "[[rules]]\nid = 'a'\naction = 'ask'\ncommands = ['terraform']\n")
	untilPlan("mended", func(fault string) bool { return fault == "" })
	info, err := os.Stat(filepath.Join(root, citydir.StateFolder, citydir.LogFolder, guardFile))
	if err != nil || info.Mode().Perm() != citydir.PrivateFile {
		t.Errorf("the calls are kept in %v, %v; want a file of this user alone", info, err)
	}
	r.stopCity()
}

// TestAgentsAreKnownToTheGuard checks what the guard knows about an agent from its configuration.
func TestAgentsAreKnownToTheGuard(t *testing.T) {
	root := newCity(t, guardedCity)
	write(t, filepath.Join(root, "ours.toml"), "")
	d := newDaemon(t)
	g, err := d.Guard(t.Context(), root, nil)
	if err != nil || !g.On || g.AskTimeout != time.Minute {
		t.Fatalf("the guard is %+v, %v", g, err)
	}
	req, err := g.Agent("shop/crew-2")
	if err != nil || req.Role != "crew" || req.Home != "/home/crew" || req.Dir != filepath.Join(root, "shop") {
		t.Errorf("the second of a pool is known as %+v, %v", req, err)
	}
	req.Tool, req.Input = guard.ShellTool, []byte(`{"command":"touch x"}`)
	if v := g.Policy.Decide(req); v.Action != guard.Deny {
		t.Errorf("its role does not count: %+v", v)
	}
	if _, err := g.Agent("shop/crw-2"); err == nil || !strings.Contains(err.Error(), "shop/crew-") {
		t.Errorf("an agent that is not there: %v", err)
	}
	if _, err := d.GuardCalls(t.Context(), root, time.Time{}); err != nil {
		t.Errorf("without calls: %v", err)
	}
	faults, err := d.CheckConfig(t.Context(), root)
	if err != nil || len(faults) > 0 {
		t.Errorf("the configuration has %v, %v", faults, err)
	}
	write(t, filepath.Join(root, client.CityFile), strings.Replace(guardedCity, "dangerous", "dangerouss", 1))
	if faults, err = d.CheckConfig(t.Context(), root); err != nil || len(faults) != 1 || !strings.Contains(faults[0].Hint, "dangerous-command") {
		t.Errorf("a typo: %+v, %v", faults, err)
	}
}

// TestDoctorReportsTheGuard checks what the doctor says about the guard of a city.
func TestDoctorReportsTheGuard(t *testing.T) {
	for toml, want := range map[string]string{"[workspace]\nname='x'\n": "no [guard]: agents may use every tool", "[guard]\nsets=['protected-branch']\n": "rules; for a call that no rule matches: allow"} {
		root := newCity(t, toml)
		found := 0
		err := newDaemon(t).Doctor(t.Context(), root, func(f client.Finding) {
			if f.Check == "guard" && f.Level == client.LevelOK && strings.Contains(f.Message, want) {
				found++
			}
		})
		if err != nil || found != 1 {
			t.Errorf("%q: it is said %d times, %v", toml, found, err)
		}
	}
}
