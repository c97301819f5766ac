// Package sessionscripts_test checks what the session scripts share. Package test/e2e/scripts
// tests their operations.
package sessionscripts_test

import (
	"bytes"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/internal/driver/script"
)

// common is the file that both scripts read.
const common = "gc-session-common.sh"

func scripts(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("gc-session-*")
	names = slices.DeleteFunc(names, func(name string) bool { return filepath.Ext(name) == ".sh" })
	if err != nil || len(names) != 2 {
		t.Fatalf("found %q, %v, want two scripts", names, err)
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
		for _, name := range append(scripts(t), common) {
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
	cmd.Env = []string{"PATH=" + path, "HOME=" + dir, "TMPDIR=" + dir}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *osexec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestCommonIsMissing copies a script without the file that it reads: it says which one.
func TestCommonIsMissing(t *testing.T) {
	for _, name := range scripts(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		alone := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(alone, text, 0o755); err != nil { //nolint:gosec // a script is executable
			t.Fatal(err)
		}
		var errs bytes.Buffer
		cmd := osexec.CommandContext(t.Context(), alone, "is-running", "a")
		cmd.Stderr = &errs
		if err := cmd.Run(); err == nil || !strings.Contains(errs.String(), "gc-error: unavailable\n") || !strings.Contains(errs.String(), common) {
			t.Errorf("%s without %s says %q, %v", name, common, errs.String(), err)
		}
	}
}

// TestLink calls a script through a symbolic link in another directory.
func TestLink(t *testing.T) {
	for _, name := range scripts(t) {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		if out, err := osexec.CommandContext(t.Context(), link, "protocol").CombinedOutput(); err != nil {
			t.Errorf("%s through a link: %v\n%s", name, err, out)
		}
	}
}

// The handshake is what gc reads, and an unknown operation is exit code 2.
func TestProtocol(t *testing.T) {
	for _, name := range scripts(t) {
		out, _, code := call(t, os.Getenv("PATH"), name, "protocol")
		h, err := script.ParseHandshake([]byte(out))
		if code != 0 || err != nil || !h.Has(script.CapTerminal) || !h.Has(script.CapObserve) || !h.Has(script.CapFence) {
			t.Errorf("the handshake of %s is %q (exit %d), %v", name, out, code, err)
		}
		tool := map[string]string{"gc-session-screen": "screen"}[name]
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
	for _, tool := range []string{"sh", "id", "ls", "awk", "mkdir", "cat", "od", "stty", "dirname", "sed", "tr", "rm", "ln", "date", "cut", "readlink"} {
		if path, err := osexec.LookPath(tool); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tool := range map[string]string{"gc-session-screen": "screen", "gc-session-docker": "docker"} {
		out, errs, code := call(t, bin, name, "is-running", "a")
		if code != 1 || out != "" || !strings.Contains(errs, tool+" is not installed") || !strings.Contains(errs, "gc-error: unavailable\n") {
			t.Errorf("%s exits %d, prints %q and says %q, want 1 and that %s is not installed", name, code, out, errs, tool)
		}
	}
}

// TestAgentsGetOnlyWhatGcPasses: an agent that would inherit the script's environment has none of it
// that gc does not name: the city's credentials may be there. Without a word of gc it has all.
func TestAgentsGetOnlyWhatGcPasses(t *testing.T) {
	block, err := os.ReadFile(common)
	if err != nil {
		t.Fatal(err)
	}
	for pass, want := range map[string]bool{"PATH LC_ALL": false, "": true} {
		launcher := filepath.Join(t.TempDir(), "launch")
		cmd := osexec.CommandContext(t.Context(), "sh", "-s", "--", launcher)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "CITY_KEY=c4n4ry", "od.d=c4n4ry", "GC_EXEC_PASS=" + pass}
		cmd.Stdin = strings.NewReader(string(block) + "\nset -eu\nmark=m environment='export OWN=own' work_dir='' command='env'\nwrite_launcher \"$1\"\n")
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
