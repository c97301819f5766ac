package hookrunner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/internal/hookrunner"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// variableOfGemini names gemini's settings file to gemini.
const variableOfGemini = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"

// watched keeps the variables of the last session that was started.
type watched struct {
	runtime.Provider
	env map[string]string
}

func (w *watched) Start(ctx context.Context, name string, cfg runtime.Config) error {
	w.env = cfg.Env
	return w.Provider.Start(ctx, name, cfg)
}

// startGemini starts a session of gemini and returns the variables of its hooks.
func startGemini(t *testing.T, opts hookrunner.Options) map[string]string {
	t.Helper()
	below := &watched{Provider: fake.New()}
	p := hookrunner.WrapProvider(below, opts)
	env := map[string]string{hookrunner.VariableHooks: "gemini"}
	if err := p.Start(t.Context(), "one", runtime.Config{Command: "gemini", Env: env}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop("one"); err != nil {
			t.Error(err)
		}
		if opts.RootDir != "" {
			if _, err := os.Stat(opts.RootDir); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", opts.RootDir, err)
			}
		}
	})
	return below.env
}

// TestGeminiGetsNoFileThatItRefuses checks that gemini gets no settings file in a directory to which others can write. It would
// ignore the file and print a security warning in each session.
func TestGeminiGetsNoFileThatItRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // what is tried
		t.Fatal(err)
	}
	env := startGemini(t, hookrunner.Options{Dir: filepath.Join(dir, "hooks"), Program: "/bin/gc"})
	if got, named := env[variableOfGemini]; named {
		t.Errorf("gemini receives %s, in a directory to which all can write", got)
	}
}

// TestGeminiGetsItsFileWhereRootAloneWrites checks that a city of root puts gemini's settings file into the second directory if
// others can write to the first, and that the file is removed with the session.
func TestGeminiGetsItsFileWhereRootAloneWrites(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil || os.Geteuid() != 0 {
		t.Skip("it takes root and a home directory")
	}
	safe, err := os.MkdirTemp(home, ".gc-test-") //nolint:usetesting // t.TempDir is below a directory to which all can write
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(safe) })
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil { //nolint:gosec // what is tried
		t.Fatal(err)
	}
	env := startGemini(t, hookrunner.Options{Dir: filepath.Join(open, "hooks"), RootDir: filepath.Join(safe, "hooks"), Program: "/bin/gc"})
	path := env[variableOfGemini]
	text, err := os.ReadFile(path)
	if !strings.HasPrefix(path, safe+"/") || err != nil || !strings.Contains(string(text), "BeforeTool") {
		t.Errorf("gemini receives %q: %v\n%.200s", path, err, text)
	}
	if got := env[hookrunner.VariableFolder]; !strings.HasPrefix(got, open) {
		t.Errorf("its hooks work in %q", got)
	}
}
