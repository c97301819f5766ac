package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

// TestAnAgentCLIThatIsInstalledLaterIsFound checks what happens to an agent whose program is installed after the start of the
// controller, in a directory that only the user's login shell has in its PATH: the failure names the program and the remedy, the
// remedy works, the doctor finds the program in the same place, and the longer PATH does not restart the agent.
func TestAnAgentCLIThatIsInstalledLaterIsFound(t *testing.T) {
	home, bin := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, ".profile"), "PATH=\"$PATH:"+bin+"\"\n")
	d := newDaemon(t, "HOME="+home, "SHELL=/bin/sh")
	root := newCity(t, strings.Replace(oneAgent, "sleep 1000", "late-cli --flag", 1)+"ready_prompt_prefix = \"> \"\n")
	r := runController(t, d, root)
	defer r.stopCity()
	failed := r.until("a", "failed", func(a client.Agent) bool { return strings.Contains(a.Reason, "late-cli") })
	if want := `cannot start "a": command "late-cli" not found in PATH of the controller; install it and run: gc restart a`; !strings.Contains(failed.Reason, want) {
		t.Errorf("the reason is %q, want %q", failed.Reason, want)
	}
	command := func() (found client.Finding) {
		_, all := examine(t, d, root)
		for _, f := range all {
			if f.Check == "agent.a.command" {
				found = f
			}
		}
		return found
	}
	if f := command(); f.Level != client.LevelProblem || !strings.Contains(f.Remedy, "gc restart a") {
		t.Errorf("the doctor finds %+v", f)
	}
	write(t, filepath.Join(bin, "late-cli"), "#!/bin/sh\nprintf '> '\nexec sleep 1000\n")
	if err := os.Chmod(filepath.Join(bin, "late-cli"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	if f := command(); f.Level != client.LevelOK || !strings.Contains(f.Message, "PATH of the login shell") {
		t.Errorf("the doctor finds %+v", f)
	}
	if _, err := r.client.Restart(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	first := r.until("a", "running", isRunning)
	if _, err := r.client.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan, err := r.client.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range plan.Actions {
		if action.Verb != "" && action.Verb != "none" {
			t.Errorf("after the start the plan is to %s: %s", action.Verb, action.Reason)
		}
	}
	if again := r.until("a", "running", isRunning); again.PID != first.PID {
		t.Errorf("the agent was restarted: process %d, then %d", first.PID, again.PID)
	}
}

// TestAMissingProgramNamesThePATHOfItsAgent checks that the failure of an agent that sets PATH in its env names that PATH.
func TestAMissingProgramNamesThePATHOfItsAgent(t *testing.T) {
	d := newDaemon(t)
	root := newCity(t, strings.Replace(oneAgent, "sleep 1000", "no-such-cli", 1)+"env = { PATH = \"/nowhere\" }\n")
	r := runController(t, d, root)
	defer r.stopCity()
	failed := r.until("a", "failed", func(a client.Agent) bool { return strings.Contains(a.Reason, "no-such-cli") })
	if want := `cannot start "a": command "no-such-cli" not found in the PATH that its env sets; correct env.PATH or install it there, and run: gc restart a`; !strings.Contains(failed.Reason, want) {
		t.Errorf("the reason is %q, want %q", failed.Reason, want)
	}
}
