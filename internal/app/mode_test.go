package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeCLI installs an agent CLI that prints the values of --permission-mode in its help text. asked
// returns how often it was run.
func fakeCLI(t *testing.T, bin, name, script string) (asked func() int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "asked")
	path := filepath.Join(bin, name)
	write(t, path, "#!/bin/sh\necho \"$*\" >> "+log+"\n"+script+"\n")
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return func() int {
		text, _ := os.ReadFile(log)
		return strings.Count(string(text), "--help\n")
	}
}

const modeCity = `
[workspace]
name = "town"
[[agents]]
name = "one"
provider = "claude"
permission_mode = "plan"
[[agents]]
name = "two"
provider = "claude"
permission_mode = "manual"
[[agents]]
name = "three"
provider = "claude"
permission_mode = "plan"
`

// TestPermissionModesAreComparedWithTheInstalledCLI checks that gc config check, the doctor and gc
// start name each agent whose permission mode the installed agent CLI does not list, with the modes
// that it lists; that the program is run once, also for several callers at the same time, and again
// when its file has changed.
func TestPermissionModesAreComparedWithTheInstalledCLI(t *testing.T) {
	bin, root := t.TempDir(), newCity(t, modeCity)
	d := newDaemon(t, "PATH="+bin+":/usr/bin:/bin", "SHELL=/bin/false")
	help := `echo '  --permission-mode <mode>  the mode'; echo '     (choices: "acceptEdits",'; echo '     "manual", "dontAsk")'`
	asked := fakeCLI(t, bin, "claude", help)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			lines, err := d.RefusedModes(t.Context(), root)
			if err != nil || len(lines) != 2 || !strings.HasPrefix(lines[0], "agent one: "+bin+"/claude does not accept --permission-mode plan") || !strings.Contains(lines[1], "known: auto-edit, default, full-auto, manual, unrestricted") {
				t.Errorf("gc start says %q, %v", lines, err)
			}
		})
	}
	group.Wait()
	faults, err := d.CheckConfig(t.Context(), root)
	if err != nil || len(faults) < 2 {
		t.Fatalf("gc config check finds %+v, %v", faults, err)
	}
	found := ""
	for _, f := range faults {
		found += fmt.Sprintf("%d %v %s\n", f.Line, f.Warning, f.Message)
	}
	if !strings.Contains(found, "7 true agent one: ") || !strings.Contains(found, "15 true agent three: ") {
		t.Errorf("gc config check finds\n%s", found)
	}
	bad, _ := examine(t, d, root)
	said := 0
	for _, f := range bad {
		if f.Check == "permission_mode" && f.Remedy != "" {
			said++
		}
	}
	if said != 2 {
		t.Errorf("the doctor finds %+v", bad)
	}
	if n := asked(); n != 1 {
		t.Errorf("the agent CLI was asked %d times, want once", n)
	}
	asked = fakeCLI(t, bin, "claude", strings.Replace(help, "manual", "plan\", \"manual", 1))
	if lines, err := d.RefusedModes(t.Context(), root); err != nil || len(lines) > 0 || asked() != 1 {
		t.Errorf("of a version that lists the mode gc start says %q, %v after %d questions", lines, err, asked())
	}
}

// TestAnAgentCLIThatDoesNotAnswerIsNoFailure checks that there is no warning about an agent CLI
// that fails, prints without end, lists no modes, or is not installed.
func TestAnAgentCLIThatDoesNotAnswerIsNoFailure(t *testing.T) {
	root := newCity(t, modeCity)
	for name, script := range map[string]string{
		"fails": `echo '--permission-mode <m> (choices: "x")'; exit 1`, "floods": "yes | head -c 5000000", "lists nothing": "echo usage", "is not there": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			if script != "" {
				fakeCLI(t, bin, "claude", script)
			}
			d := newDaemon(t, "PATH="+bin+":/usr/bin:/bin", "SHELL=/bin/false")
			if lines, err := d.RefusedModes(t.Context(), root); err != nil || len(lines) > 0 {
				t.Errorf("gc start says %q, %v", lines, err)
			}
		})
	}
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		bin := t.TempDir()
		asked := fakeCLI(t, bin, "claude", "exec sleep 1000")
		d := newDaemon(t, "PATH="+bin+":/usr/bin:/bin", "SHELL=/bin/false")
		d.Helps.Limit = 200 * time.Millisecond
		for range 3 {
			if lines, err := d.RefusedModes(t.Context(), root); err != nil || len(lines) > 0 {
				t.Errorf("gc start says %q, %v", lines, err)
			}
		}
		if n := asked(); n != 1 {
			t.Errorf("an agent CLI that hangs was asked %d times, want once", n)
		}
	})
}
