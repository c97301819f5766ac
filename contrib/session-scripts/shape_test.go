// Package sessionscripts_test holds the session scripts to what they share. What they do is
// proved in test/e2e/scripts.
package sessionscripts_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/internal/driver/script"
)

var update = flag.Bool("update", false, "write the shared lines of the first script that has them into the others")

// blocks are the lines that several scripts share, word for word, so that each is whole by
// itself. The first script is where they are edited.
var blocks = map[string][]string{
	"common":   {"gc-session-tmux", "gc-session-screen", "gc-session-ssh", "gc-session-docker", "gc-session-k8s"},
	"tmux":     {"gc-session-tmux", "gc-session-ssh", "gc-session-docker", "gc-session-k8s"},
	"document": {"gc-session-tmux", "gc-session-screen", "gc-session-ssh", "gc-session-docker", "gc-session-k8s"},
	"here":     {"gc-session-tmux", "gc-session-screen"},
	"carry":    {"gc-session-ssh", "gc-session-docker", "gc-session-k8s"},
	"box":      {"gc-session-docker", "gc-session-k8s"},
}

func TestSharedLinesAreTheSame(t *testing.T) {
	for block, scripts := range blocks {
		_, want, _ := cut(t, scripts[0], block)
		for _, name := range scripts[1:] {
			before, got, after := cut(t, name, block)
			if got == want {
				continue
			}
			if !*update {
				t.Errorf("the block %q of %s is not that of %s; go test ./contrib/session-scripts -update makes it so", block, name, scripts[0])
				continue
			}
			if err := os.WriteFile(name, []byte(before+want+after), 0o755); err != nil { //nolint:gosec // a script is executable
				t.Error(err)
			}
		}
	}
}

// cut returns a script before, in and after a block.
func cut(t *testing.T, name, block string) (before, in, after string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text, begin, end := string(data), "# --- "+block+": begin", "# --- "+block+": end\n"
	from, to := strings.Index(text, begin), strings.Index(text, end)
	if from < 0 || to < from {
		t.Fatalf("%s has no block %q", name, block)
	}
	to += len(end)
	return text[:from], text[from:to], text[to:]
}

func scripts(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("gc-session-*")
	if err != nil || len(names) != 5 {
		t.Fatalf("found %q, %v, want five scripts", names, err)
	}
	return names
}

// Each sh that is here understands the scripts.
func TestSyntax(t *testing.T) {
	for _, shell := range []string{"sh", "dash", "bash --posix", "busybox sh", "mksh"} {
		words := strings.Fields(shell)
		path, err := osexec.LookPath(words[0])
		if err != nil {
			t.Logf("%s is not installed", words[0])
			continue
		}
		for _, name := range scripts(t) {
			args := append(slices.Clone(words[1:]), "-n", name)
			if out, err := osexec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
				t.Errorf("%s -n %s: %v\n%s", shell, name, err, out)
			}
		}
	}
}

// call runs a script with nothing but a PATH.
func call(t *testing.T, path, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	cmd := osexec.CommandContext(t.Context(), "./"+name, args...)
	cmd.Env = []string{"PATH=" + path, "HOME=" + dir, "TMPDIR=" + dir, "GC_SSH_HOST=host.invalid"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *osexec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// The handshake is what gc reads, and an unknown operation is exit code 2.
func TestProtocol(t *testing.T) {
	for _, name := range scripts(t) {
		out, _, code := call(t, os.Getenv("PATH"), name, "protocol")
		h, err := script.ParseHandshake([]byte(out))
		if code != 0 || err != nil || !h.Has(script.CapTerminal) || !h.Has(script.CapObserve) || !h.Has(script.CapFence) {
			t.Errorf("the handshake of %s is %q (exit %d), %v", name, out, code, err)
		}
		tool := map[string]string{"gc-session-tmux": "tmux", "gc-session-screen": "screen"}[name]
		if _, err := osexec.LookPath(tool); tool != "" && err != nil {
			continue // it says so first
		}
		for _, operation := range []string{"no-such-operation", "watch-startup", "check-image", ""} {
			if out, errs, code := call(t, os.Getenv("PATH"), name, operation, "worker"); code != 2 || out != "" {
				t.Errorf("%s %q exits %d, prints %q and says %q, want 2 and nothing", name, operation, code, out, errs)
			}
		}
	}
}

// Without its program a script says which one.
func TestMissingTool(t *testing.T) {
	bin := t.TempDir()
	for _, tool := range []string{"sh", "id", "ls", "awk", "mkdir", "cat", "od", "stty", "dirname", "sed", "tr", "rm", "ln", "date", "cut"} {
		if path, err := osexec.LookPath(tool); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tool := range map[string]string{
		"gc-session-tmux": "tmux", "gc-session-screen": "screen", "gc-session-docker": "docker", "gc-session-k8s": "kubectl", "gc-session-ssh": "ssh",
	} {
		out, errs, code := call(t, bin, name, "is-running", "a")
		if code != 1 || out != "" || !strings.Contains(errs, tool+" is not installed") || !strings.Contains(errs, "gc-error: unavailable\n") {
			t.Errorf("%s exits %d, prints %q and says %q, want 1 and that %s is not installed", name, code, out, errs, tool)
		}
	}
}

// TestAgentsGetOnlyWhatGcPasses: an agent that would inherit the script's environment has none of it
// that gc does not name: the city's credentials may be there. Without a word of gc it has all.
func TestAgentsGetOnlyWhatGcPasses(t *testing.T) {
	_, block, _ := cut(t, "gc-session-tmux", "common")
	for pass, want := range map[string]bool{"PATH LC_ALL": false, "": true} {
		launcher := filepath.Join(t.TempDir(), "launch")
		cmd := osexec.CommandContext(t.Context(), "sh", "-s", "--", launcher)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "CITY_KEY=c4n4ry", "od.d=c4n4ry", "GC_EXEC_PASS=" + pass}
		cmd.Stdin = strings.NewReader(block + "\nset -eu\nmark=m environment='export OWN=own' work_dir='' command='env'\nwrite_launcher \"$1\"\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		run := osexec.CommandContext(t.Context(), "sh", launcher)
		run.Env = []string{"PATH=/nowhere:" + os.Getenv("PATH")}
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, line := range []string{"LC_ALL=C\n", "OWN=own\n", "PATH=" + os.Getenv("PATH") + "\n", "GC_EXEC_MARK=m\n"} {
			if !bytes.Contains(out, []byte(line)) {
				t.Errorf("with GC_EXEC_PASS=%q the agent does not get %s:\n%s", pass, line, out)
			}
		}
		if got := bytes.Contains(out, []byte("CITY_KEY=c4n4ry\n")); got != want {
			t.Errorf("with GC_EXEC_PASS=%q the agent has the city's key: %t, want %t", pass, got, want)
		}
	}
}
