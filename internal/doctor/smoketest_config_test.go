package doctor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

func parseConfig(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := toml.Unmarshal(text, &out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

// What says how a CLI is reached is taken over, and nothing of what the agents of the city do.
func TestLike(t *testing.T) {
	text, names, err := copySmokeConfig([]byte(`
[workspace]
name = "town"
[daemon]
patrol_interval = "1h"
[credentials.key]
file = "secrets/key"
[credentials.other]
file = "/etc/key"
[credentials.made]
command = "./token # now"
[providers.mine]
base = "builtin:one"
[[agents]]
name = "plain"
start_command = "sleep 1"
[[agents]]
name = "first"
dir = "rig"
provider = "mine"
session = "k8s"
pre_start = ["rm -rf ."]
prompt_template = "work.md"
credentials = ["key"]
[agents.env]
A = "1"
[[agents]]
name = "second"
provider = "mine"
`), "/city")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"workspace":   map[string]any{"name": "doctor"},
		"credentials": map[string]any{"key": map[string]any{"file": "/city/secrets/key"}, "other": map[string]any{"file": "/etc/key"}, "made": map[string]any{"command": "cd /city && { ./token # now\n}"}},
		"providers":   map[string]any{"mine": map[string]any{"base": "builtin:one"}},
		"agents": []any{map[string]any{
			"name": "first", "provider": "mine", "credentials": []any{"key"}, "env": map[string]any{"A": "1"},
		}},
	}
	if diff := cmp.Diff(want, parseConfig(t, text)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"first"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestLikeNothing(t *testing.T) {
	if text, names, err := copySmokeConfig([]byte("[[agents]]\nname = 'a'\nstart_command = 'sleep 1'\n"), "/"); text != nil || names != nil || err != nil {
		t.Errorf("Like = %q, %v, %v", text, names, err)
	}
	if _, _, err := copySmokeConfig([]byte("[[agents"), "/"); err == nil {
		t.Error("a faulty city is no error")
	}
}

func TestMachine(t *testing.T) {
	text, err := newSmokeConfig([]string{"one", "two"})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{map[string]any{"name": "one", "provider": "one"}, map[string]any{"name": "two", "provider": "two"}}
	if diff := cmp.Diff(want, parseConfig(t, text)["agents"]); diff != "" {
		t.Error(diff)
	}
}

// A screen that repeats the question does not pass for the answer.
func TestTheAnswerIsNotInTheQuestion(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		question, answer := newQuestion()
		if strings.Contains(question, answer) || seen[answer] {
			t.Errorf("%q is answered by %q", question, answer)
		}
		seen[answer] = true
	}
}
