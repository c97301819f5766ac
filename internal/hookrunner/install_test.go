package hookrunner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/internal/agentcli"
	"gascity/internal/hookrunner"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// TestASessionGetsItsHooks checks the files, arguments and variables of the hooks of a session.
func TestASessionGetsItsHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	below := fake.New()
	p := hookrunner.WrapProvider(below, hookrunner.Options{Dir: dir, Program: "/opt/it's/gc"})
	env := map[string]string{hookrunner.VariableHooks: "claude"}
	if err := p.Start(t.Context(), "a-b", runtime.Config{Command: "agent --x", Env: env}); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("files %v, %v", paths, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	var settings struct{ Hooks map[string][]json.RawMessage }
	if err := json.Unmarshal(text, &settings); err != nil || len(settings.Hooks["PreToolUse"]) != 1 {
		t.Errorf("settings %s, %v", text, err)
	}
	if len(env) != 1 {
		t.Errorf("the caller's environment was changed: %v", env)
	}
	if err := p.Stop("a-b"); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestInstalled checks what Install writes for each agent CLI.
func TestInstalled(t *testing.T) {
	t.Parallel()
	for _, name := range agentcli.HookNames() {
		cli, _ := agentcli.LookupHooks(name)
		dir := t.TempDir()
		got, err := hookrunner.Install(cli, "/bin/gc", dir, dir, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := os.Stat(got.Path); err != nil || !strings.HasPrefix(got.Path, dir) {
			t.Errorf("%s: %s, %v", name, got.Path, err)
		}
		if all := strings.Join(got.Args, " "); strings.Contains(all, "{file}") || strings.Contains(all, "{hooks}") {
			t.Errorf("%s: a mark is left in %s", name, all)
		}
		var settings map[string]any
		if text, err := os.ReadFile(got.Path); err != nil || len(cli.Also) > 0 && json.Unmarshal(text, &settings) != nil {
			t.Errorf("%s: the file cannot be read: %v", name, err)
		}
		for member := range cli.Also {
			if settings[member] == nil || settings["hooks"] == nil {
				t.Errorf("%s: the file has no %s beside the hooks: %v", name, member, settings)
			}
		}
		if len(got.Args) == 0 && len(got.Env) < 2 {
			t.Errorf("%s: nothing makes the agent use it", name)
		}
		for file, want := range cli.Beside {
			if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(text) != want {
				t.Errorf("%s: %s is not there as it is known: %v", name, file, err)
			}
		}
		if err := hookrunner.Uninstall(cli, dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}
