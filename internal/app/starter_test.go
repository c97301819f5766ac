package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/config"
)

// TestANewCityIsSafeByDefault checks for each agent CLI that the city.toml of a new city is valid,
// has a guard with three rule sets, and does not start the agent CLI in a mode that uses tools
// without asking or that is refused as root, unless it has no other.
func TestANewCityIsSafeByDefault(t *testing.T) {
	d := newDaemon(t)
	profiles := agentcli.Builtin()
	check := func(providers ...string) *config.City {
		t.Helper()
		text, err := d.StarterConfig(t.Context(), "town", providers)
		if err != nil {
			t.Fatalf("no city.toml for %v: %v", providers, err)
		}
		root := t.TempDir()
		write(t, filepath.Join(root, client.CityFile), string(text))
		r, err := d.Load(t.Context(), root)
		if err != nil {
			t.Fatalf("the city.toml for %v is faulty: %v\n%s", providers, err, text)
		}
		if want := []string{"dangerous-command", "protected-branch", "secrets-reading"}; strings.Join(r.City.Guard.Sets, " ") != strings.Join(want, " ") {
			t.Errorf("the guard for %v has the sets %v, want %v", providers, r.City.Guard.Sets, want)
		}
		for i := range r.City.Agents {
			a := &r.City.Agents[i]
			if a.Provider == "" {
				continue
			}
			p, _ := profiles.Lookup(a.Provider)
			if p.SkipsPermissions(a.PermissionMode, a.Env) && !p.NeverAsks {
				t.Errorf("the agent for %s skips permission questions:\n%s", a.Provider, text)
			}
			for _, refused := range p.RefusedAsRoot {
				if a.PermissionMode == refused || a.PermissionMode == "" {
					t.Errorf("the agent for %s does not start as root:\n%s", a.Provider, text)
				}
			}
		}
		return r.City
	}
	if shell := check(); len(shell.Agents) != 1 || shell.Guard.Unguarded != config.UnguardedReport {
		t.Errorf("a city without an agent CLI has %d agents and %q for those that cannot ask", len(shell.Agents), shell.Guard.Unguarded)
	}
	names := profiles.Names()
	for _, name := range names {
		if name == agentcli.Generic {
			continue
		}
		if city := check(name); len(city.Agents) != 1 || city.Agents[0].Name != "coder" {
			t.Errorf("the city for %s has the agents %v", name, city.Agents)
		}
	}
	if both := check("claude", "auggie"); len(both.Agents) != 2 || both.Guard.Unguarded != config.UnguardedHold {
		t.Errorf("one agent CLI that cannot ask changes what holds for another: %+v", both.Guard)
	}
	_, err := d.StarterConfig(t.Context(), "town", []string{"cluade"})
	if !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), `did you mean "claude"?`) || !strings.Contains(err.Error(), "opencode") {
		t.Errorf("an unknown agent CLI gives %v", err)
	}
}

// TestANewCityInARepositoryIsNotCommitted checks that git ignores the state of a new city, also if
// git is not installed, and that gc init writes no such file for a city outside of a repository.
func TestANewCityInARepositoryIsNotCommitted(t *testing.T) {
	d, top := newDaemon(t), t.TempDir()
	city := filepath.Join(top, "city")
	if err := os.MkdirAll(city, 0o700); err != nil {
		t.Fatal(err)
	}
	if file, err := d.IgnoreState(city); file != "" || err != nil {
		t.Errorf("without a repository: %q, %v", file, err)
	}
	write(t, filepath.Join(top, ".git", "HEAD"), "ref: refs/heads/main\n")
	file, err := d.IgnoreState(city)
	if err != nil || !strings.HasSuffix(file, ".git/info/exclude") {
		t.Fatalf("in a repository: %q, %v", file, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "/city/.gc/\n/city/.runtime/\n" {
		t.Errorf("%s holds %q, %v", file, text, err)
	}
}
