package guard_test

import (
	"slices"
	"testing"

	"gascity/internal/guard"
)

// TestReaders checks which tools may be used while no decision can be made.
func TestReaders(t *testing.T) {
	secrets := policy(t, "dangerous-command", "secrets-reading")
	tools, except := secrets.Readers(guard.Request{Agent: "a", Home: "/home/u", Dir: "/home/u/repo"})
	if !slices.Contains(tools, "Read") || slices.Contains(tools, "Bash") || slices.Contains(tools, "Write") {
		t.Errorf("tools: %v", tools)
	}
	for _, text := range []string{".env", ".ssh", ".pem", "shadow", "id_rsa"} {
		if !slices.Contains(except, text) {
			t.Errorf("%s is not excepted: %v", text, except)
		}
	}
	if tools, _ := secrets.Readers(guard.Request{Agent: "a", Home: "/home/u", Dir: "/home/u/.ssh"}); len(tools) > 0 {
		t.Errorf("an agent that works among the secrets may use %v", tools)
	}
	for name, rule := range map[string]guard.Rule{
		"the tool is asked about":     {ID: "x", Action: guard.Ask, Tools: []string{"Read"}},
		"a place that has no text":    {ID: "x", Action: guard.Deny, Paths: []string{"/*"}, Tools: []string{"Read"}},
		"a place that begins at home": {ID: "x", Action: guard.Deny, Paths: []string{"~/**"}, Tools: []string{"Read"}},
	} {
		p, err := guard.Compile(guard.Source{Sets: []guard.Set{{Name: "s", Rules: []guard.Rule{rule}}}})
		if err != nil {
			t.Fatal(err)
		}
		if tools, _ := p.Readers(guard.Request{}); slices.Contains(tools, "Read") || !slices.Contains(tools, "Grep") {
			t.Errorf("%s: %v", name, tools)
		}
	}
	none, err := guard.Compile(guard.Source{Default: guard.Deny})
	if err != nil {
		t.Fatal(err)
	}
	if tools, _ := none.Readers(guard.Request{}); len(tools) > 0 {
		t.Errorf("where nothing is allowed: %v", tools)
	}
}
