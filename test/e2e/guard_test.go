package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/agentcli"
)

// guardedAgent is an agent that calls the real hook before each tool, as an agent CLI with hooks does. It
// reads a word from a pipe, and touches a file of that name if the hook allows it.
const guardedAgent = `
echo ready
while :; do
	read -r word tool command <ask
	if printf '{"hook_event_name":"%[3]s","tool_name":"%%s","tool_input":{"command":"%%s"},"tool_use_id":"%%s"}' "$tool" "$command" "$word" |
		'%[1]s' hook run --for '%[2]s' --within %[4]s '%[3]s' >"said-$word" 2>"why-$word" && ! grep -q '"deny"' "said-$word"
	then
		touch "ran-$word"
	else
		touch "blocked-$word"
	fi
done
`

// hookWithin is the hook's own deadline in the test.
const hookWithin = 3 * time.Second

// TestStoppedControllerAllowsNothing stops the controller alone, by SIGSTOP, while a
// guarded agent uses tools. Each call is blocked at the hook's deadline and never runs. After SIGCONT the agent
// continues.
func TestStoppedControllerAllowsNothing(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "[guard]\nsets = [\"dangerous-command\"]\n", nil)
	c.addGuarded(hookWithin)
	c.start()
	c.await("running", running)
	c.expects("before", "Bash ls", "ran")
	c.expects("forced", "Bash git push --force origin x", "blocked")
	send(t, c.cmd.Process.Pid, syscall.SIGSTOP)
	for _, word := range []string{"during1", "during2"} {
		began := time.Now()
		c.expects(word, "Bash ls", "blocked")
		if took := time.Since(began); took < hookWithin/2 || took > 4*hookWithin {
			t.Errorf("%s was blocked after %v, the hook's deadline is %v: %s", word, took, hookWithin, c.reads("why-"+word))
		}
	}
	send(t, c.cmd.Process.Pid, syscall.SIGCONT)
	c.await("back", running)
	c.expects("after", "Bash ls", "ran")
	c.expects("forced2", "Bash git push --force origin x", "blocked")
	for _, word := range []string{"during1", "during2", "forced", "forced2"} {
		if _, err := os.Stat(filepath.Join(c.root, "ran-"+word)); err == nil {
			t.Errorf("%s has run", word)
		}
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
}

// addGuarded adds the guarded agent to a city that does not run. within is its hook's deadline.
func (c *city) addGuarded(within time.Duration) {
	c.t.Helper()
	cli, event := guarding(c.t)
	script := fmt.Sprintf(guardedAgent, c.gc, cli, event, within)
	if err := os.WriteFile(filepath.Join(c.root, "guarded.sh"), []byte(script), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(c.root, "ask"), 0o600); err != nil {
		c.t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(c.root, client.CityFile), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(file, "[[agents]]\nname = \"guarded\"\nsession = \"subprocess\"\nwork_dir = %q\nstart_command = \"exec sh guarded.sh\"\n", c.root); err != nil {
		c.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// guarding returns an agent CLI with a hook that decides, and the name of its event.
func guarding(t *testing.T) (cli, event string) {
	t.Helper()
	for _, name := range agentcli.HookNames() {
		known, _ := agentcli.LookupHooks(name)
		at := slices.IndexFunc(known.Events, func(e agentcli.HookEvent) bool { return e.Means == agentcli.HookGuard })
		if at >= 0 && known.Script == "" {
			return name, known.Events[at].Name
		}
	}
	t.Fatal("no agent CLI has a hook that decides")
	return "", ""
}

// expects has the guarded agent make a call, its tool and its command, and waits until it has been run or blocked as
// it must be.
func (c *city) expects(word, call, outcome string) {
	c.t.Helper()
	pipe, err := os.OpenFile(filepath.Join(c.root, "ask"), os.O_RDWR, 0) // does not wait for its reader
	if err != nil {
		c.t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := fmt.Fprintln(pipe, word, call); err != nil {
		c.t.Fatal(err)
	}
	for deadline := time.Now().Add(waitLimit); time.Now().Before(deadline); pause(20 * time.Millisecond) {
		for _, came := range []string{"ran", "blocked"} {
			if _, err := os.Stat(filepath.Join(c.root, came+"-"+word)); err != nil {
				continue
			}
			if came != outcome {
				c.t.Errorf("%s (%s) %s, must be %s: %s", word, call, came, outcome, c.reads("why-"+word)+c.reads("said-"+word))
			}
			return
		}
	}
	c.t.Fatalf("nothing came of %s (%s)", word, call)
}

func (c *city) reads(name string) string {
	text, err := os.ReadFile(filepath.Join(c.root, name))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
