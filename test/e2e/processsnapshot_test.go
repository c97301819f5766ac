package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// processSnapshot is a process at one moment.
type processSnapshot struct {
	pid  int
	argv string
	env  []string
}

func (s processSnapshot) get(name string) string {
	for _, entry := range s.env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// has returns the secrets in a process's environment.
func (s processSnapshot) has(secrets []string) (found []string) {
	for _, secret := range secrets {
		if slices.ContainsFunc(s.env, func(entry string) bool { return strings.Contains(entry, secret) }) {
			found = append(found, secret)
		}
	}
	return found
}

func processSnapshots(t *testing.T) (all []processSnapshot) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		argv, gone := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, hidden := os.ReadFile(filepath.Join(dir, "environ"))
		pid, err := strconv.Atoi(filepath.Base(dir))
		if gone == nil && hidden == nil && err == nil {
			all = append(all, processSnapshot{pid, string(argv), strings.Split(string(bytes.TrimRight(env, "\x00")), "\x00")})
		}
	}
	return all
}

// The markers by the agents that have them. The controller has the first one.
var canaries = map[string][]string{
	"one": {canary + "one-env", canary + "one", canary + "one-team"},
	"two": {canary + "two", canary + "two-written"},
}

// census reads the environment and the arguments of every process. It returns the tokens of the runs.
func (c *city) census(t *testing.T, where map[string]string) (tokens []string) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Logf("no process is looked at: %v", err)
		return nil
	}
	all := processSnapshots(t)
	whose := map[string]string{}
	agents := map[string]bool{}
	var argv string // of the controller
	for _, s := range all {
		if token := s.get("GC_WORKER_TOKEN"); token != "" && s.get("GC_CITY_PATH") == c.root {
			whose[token] = s.get("GC_AGENT")
			agents[s.get("GC_AGENT")] = len(s.has(slices.Concat(canaries["one"][:1], canaries["two"][:1]))) == 1
		}
		if s.pid == c.cmd.Process.Pid {
			argv = s.argv
		}
	}
	for token := range whose {
		tokens = append(tokens, token)
	}
	for name := range where {
		if !agents[name] {
			t.Errorf("no process of %s was seen with its credentials: nothing was looked at", name)
		}
	}
	for _, s := range all {
		c.judges(t, s, whose, argv)
	}
	return tokens
}

// judges compares the secrets of a process with those that it may have.
func (c *city) judges(t *testing.T, s processSnapshot, whose map[string]string, controller string) {
	t.Helper()
	agent := ""
	if s.get("GC_CITY_PATH") == c.root {
		agent = s.get("GC_AGENT")
	}
	for token, owner := range whose {
		if strings.Contains(s.argv, token) || len(s.has([]string{token})) > 0 && agent != owner {
			t.Errorf("process %d (%q, of %q) has the token of %s", s.pid, s.argv, agent, owner)
		}
	}
	if len(s.has([]string{canary})) == 0 {
		return
	}
	switch {
	case s.argv == controller, agent == "" && s.get("GC_EXEC_STATE_DIR") != "": // a script has what the controller was given
		s.env = slices.DeleteFunc(slices.Clone(s.env), func(entry string) bool { return entry == "CANARY_KEY="+canary+"one-env" })
		if found := s.has([]string{canary}); len(found) > 0 {
			t.Errorf("process %d (%q) has a credential that it was not started with", s.pid, s.argv)
		}
	case agent == "":
		t.Errorf("process %d (%q) is no agent's and has a credential", s.pid, s.argv)
	default:
		one, two := len(s.has([]string{canary + "one"})) > 0, len(s.has([]string{canary + "two"})) > 0
		if one && two || s.get("CANARY_KEY") != "" {
			t.Errorf("process %d (%q) of %s has the credentials of another agent, or of the controller", s.pid, s.argv, agent)
		}
	}
}

// checkTmuxEnvironment asks the city's server what it shows of its environments.
func (c *city) checkTmuxEnvironment(t *testing.T, secrets []string) {
	t.Helper()
	socket := filepath.Join(c.shimsDir(t), "tmux", "s")
	if _, err := os.Stat(socket); err != nil {
		t.Logf("no tmux is looked at: %v", err)
		return
	}
	show := `tmux -S "$1" show-environment -g; tmux -S "$1" show-options -g
tmux -S "$1" list-sessions -F '#{session_id} #{session_name}' | while read -r id name; do
	echo "$name"; tmux -S "$1" show-environment -t "$id" 2>&1; tmux -S "$1" show-environment -h -t "$id" 2>&1
done`
	out, err := exec.CommandContext(t.Context(), "sh", "-c", show, "sh", socket).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("tmux")) {
		t.Fatalf("tmux does not show its environments: %v\n%s", err, out)
	}
	for _, secret := range secrets {
		if bytes.Contains(out, []byte(secret)) {
			t.Errorf("tmux shows %q:\n%s", secret, out)
		}
	}
}
