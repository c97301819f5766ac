package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

const threeAgents = `
[workspace]
name = "town"
[[agents]]
name = "free"
provider = "claude"
[[agents]]
name = "asking"
provider = "claude"
permission_mode = "manual"
[[agents]]
name = "shell"
start_command = "sleep 1000"
`

// TestWhoSkipsPermissionsIsSaid checks that gc start and the doctor name the agents that use their tools without asking; that the
// doctor warns of it if no guard checks them; and that, as root, a mode that the agent CLI refuses is a warning with a mode that
// works.
func TestWhoSkipsPermissionsIsSaid(t *testing.T) {
	d, root := newDaemon(t), newCity(t, threeAgents)
	words, err := d.Unasked(t.Context(), root)
	if err != nil || !strings.HasPrefix(words, "free runs its tools without asking a person") || !strings.Contains(words, "no [guard]") {
		t.Errorf("gc start says %q, %v", words, err)
	}
	warning := func() string {
		bad, _ := examine(t, d, root)
		for _, f := range bad {
			if f.Check == "permissions" {
				return f.Message + f.Remedy
			}
		}
		return ""
	}
	if got := warning(); !strings.Contains(got, "free runs its tools") || !strings.Contains(got, `permission_mode = "manual"`) {
		t.Errorf("the doctor warns with %q", got)
	}
	faults, err := d.CheckConfig(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	refused := strings.Contains(messages(faults), `claude refuses to start as root with permission_mode = "unrestricted"`)
	if want := os.Geteuid() == 0; refused != want {
		t.Errorf("as user %d the check says %q", os.Geteuid(), messages(faults))
	}
	write(t, filepath.Join(root, "city.toml"), threeAgents+"[guard]\nsets = ['dangerous-command']\n")
	if got := warning(); got != "" {
		t.Errorf("the doctor warns of agents that the guard checks: %q", got)
	}
}

// messages returns the messages of faults, one in each line, with their kinds.
func messages(faults []client.ConfigFault) string {
	var b strings.Builder
	for _, f := range faults {
		if f.Warning {
			b.WriteString("warning: ")
		}
		b.WriteString(f.Message + "; " + f.Hint + "\n")
	}
	return b.String()
}

// TestWhatHasNoEffectIsNamed checks that packs, agents in directories, and keys that gc does not use are warnings of gc config
// check and of the doctor, and no mistakes.
func TestWhatHasNoEffectIsNamed(t *testing.T) {
	d, root := newDaemon(t), newCity(t, "[workspace]\nname = 'swarm'\nincludes = ['packs/x']\n[[named_session]]\nname = 'mayor'\n")
	write(t, filepath.Join(root, "pack.toml"), "")
	write(t, filepath.Join(root, "packs", "x", "pack.toml"), "")
	write(t, filepath.Join(root, "agents", "dog", "agent.toml"), "")
	faults, err := d.CheckConfig(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	said := messages(faults)
	for _, want := range []string{
		"warning: gc does not support packs, so these files in the city directory have no effect: pack.toml, packs/, agents/*/agent.toml; write the agents that they define as [[agents]] in city.toml\n",
		"warning: includes has no effect", "warning: named_session has no effect",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the check does not say %q:\n%s", want, said)
		}
	}
	for _, f := range faults {
		if !f.Warning {
			t.Errorf("%q is a mistake", f.Message)
		}
	}
	bad, _ := examine(t, d, root)
	count := 0
	for _, f := range bad {
		if strings.Contains(f.Message, "gc does not support packs") {
			count++
		}
	}
	if count != 1 {
		t.Errorf("the doctor warns %d times of packs: %+v", count, bad)
	}
}

// TestACityThatGitWouldCommitIsReported checks that the doctor warns of a city in a repository if git does not ignore the state
// of the city, and that gc init prevents that.
func TestACityThatGitWouldCommitIsReported(t *testing.T) {
	d, root := newDaemon(t), newCity(t, oneAgent)
	find := func() (level string) {
		_, all := examine(t, d, root)
		for _, f := range all {
			if f.Check == "git" {
				level = f.Level
			}
		}
		return level
	}
	if got := find(); got != "" {
		t.Errorf("outside of a repository the finding is %q", got)
	}
	write(t, filepath.Join(root, ".git", "HEAD"), "ref: refs/heads/main\n")
	if got := find(); got != client.LevelWarning {
		t.Errorf("nothing ignores the state, and the finding is %q", got)
	}
	if _, err := d.IgnoreState(root); err != nil {
		t.Fatal(err)
	}
	if got := find(); got != client.LevelOK {
		t.Errorf("git ignores the state, and the finding is %q", got)
	}
}

// TestInstalledAgentCLIsAreListed checks that the list has every agent CLI that gc knows, with the version that its program
// prints and whether gc was tested with it. A program that prints no version, or hangs, is listed too.
func TestInstalledAgentCLIsAreListed(t *testing.T) {
	bin := t.TempDir()
	for name, script := range map[string]string{"claude": "echo '2.1.200 (Claude Code)'", "codex": "echo codex-cli 0.170.0", "gemini": "exit 1"} {
		write(t, filepath.Join(bin, name), "#!/bin/sh\n"+script+"\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	d := New(Options{Environ: []string{"PATH=" + bin + ":/usr/bin:/bin", "SHELL=/bin/false"}})
	rows, err := d.AgentCLIs(t.Context())
	if err != nil || len(rows) < 18 {
		t.Fatalf("%d agent CLIs are listed: %v", len(rows), err)
	}
	want := map[string]string{"claude": "2.1.200 found", "codex": "0.170.0 untested", "gemini": " untested", "amp": " not installed"}
	for _, row := range rows {
		if w, ok := want[row.Name]; ok && row.Version+" "+row.State != w {
			t.Errorf("%s is %q, want %q", row.Name, row.Version+" "+row.State, w)
		}
	}
}
