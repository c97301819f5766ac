package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/agentcli"
	"gascity/test/agents/bed"
)

// TestPromptsByTheServer: texts that an input box would change reach the model byte for byte,
// each once, also in a conversation that a person has begun again, and after each process of the
// agent has been killed. Text that a person has typed stays.
func TestPromptsByTheServer(t *testing.T) {
	together(t)
	for _, name := range driven("codex", "opencode") {
		c := bed.Open(t, "pty", bed.Member{Name: "one", CLI: name})
		var want []string
		send := func(text string, flags ...string) {
			t.Helper()
			if out, err := c.Run(t.Context(), append([]string{"nudge", "one", text, "--wait", "consumed"}, flags...)...); err != nil {
				t.Fatalf("gc nudge %.40q: %v\n%s", text, err, out)
			}
			want = append(want, text)
		}
		settle := func() {
			t.Helper()
			if out, err := c.Run(t.Context(), "wait", "one", "--for", "idle", "--timeout", bed.StepTimeout.String()); err != nil {
				t.Fatalf("gc wait: %v\n%s", err, out)
			}
		}
		settle()
		parts := map[string]int{"codex": 3, "opencode": 1}[name]
		if now := channelProcesses(t, c.Root); len(now) != parts {
			t.Fatalf("the processes of %s are %v, want %d: a channel, its server and its terminal, or all in one", name, now, parts)
		}
		shows := func(command, words string) {
			t.Helper()
			look := time.NewTicker(100 * time.Millisecond)
			defer look.Stop()
			for limit := time.After(bed.StepTimeout); ; {
				out, err := c.Run(t.Context(), command, "one")
				if err == nil && strings.Contains(out, words) {
					return
				}
				select {
				case <-look.C:
				case <-limit:
					t.Fatalf("gc %s never shows %q: %v\n%s", command, words, err, out)
				}
			}
		}
		shows("explain", "prompts      by "+agentcli.NativeChannel(name))
		if _, err := c.Model.AwaitPrompts(t.Context(), "one", 1); err != nil { // until then keys may be lost
			t.Fatal(err)
		}
		settle()
		draft := map[string]string{"codex": "› ab@", "opencode": "┃  ab@"}[name]
		if out, err := c.Run(t.Context(), "keys", "one", "a", "b", "@"); err != nil {
			t.Fatalf("gc keys: %v\n%s", err, out)
		}
		shows("peek", draft)
		for _, text := range []string{
			"KK1 e\u0301 \u202eRTL\u202c", "AT1 look at @", `BS1 ends with \`, "CR1 one\r\ntwo", "NL1 ends\n\n\n", "   BL1 begins",
			"! echo 1", "#note", "@note", "soft\u00adhyphen\u200b\ufeff", strings.Repeat("long \u00e9 ", 12_000) + "end",
		} {
			send(text)
		}
		send("/status is no command here", "--literal")
		if out, err := c.Run(t.Context(), "peek", "one"); err != nil || !strings.Contains(out, draft) {
			t.Errorf("the person's text is gone: %v\n%s", err, out)
		}
		if out, err := c.Run(t.Context(), "keys", "one", "BSpace", "BSpace", "BSpace"); err != nil {
			t.Fatalf("gc keys: %v\n%s", err, out)
		}
		before := c.Model.Prompts("one")
		if out, err := c.Run(t.Context(), "nudge", "one", "/new"); err != nil && name != "opencode" { // its box is gone, and nothing else is seen of it
			t.Fatalf("gc nudge /new: %v\n%s", err, out)
		}
		send("after /new @")
		if now := c.Model.Prompts("one"); c.Model.Requests()[now[len(now)-1].First-1].Session == c.Model.Requests()[before[len(before)-1].First-1].Session {
			t.Error("the prompt after /new went to the conversation before it")
		}
		for i := range parts {
			pids := channelProcesses(t, c.Root)
			if len(pids) != parts {
				t.Fatalf("the agent's processes are %v", pids)
			}
			_ = syscall.Kill(pids[i], syscall.SIGKILL)
			awaitReplaced(t, c, pids)
			settle()
			send("after kill " + strconv.Itoa(i) + ` \`)
		}
		var got []string
		for _, p := range c.Model.Prompts("one") {
			if slices.Contains(want, p.Text) {
				got = append(got, p.Text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the model got %.600q, want %.600q", got, want)
		}
	}
}

// TestPromptsWaitWhileItThinks: an agent CLI that makes one prompt of all that it gets during a
// turn gets none then, also where only its screen says what it does: each prompt reaches the model
// by itself, once and in order.
func TestPromptsWaitWhileItThinks(t *testing.T) {
	together(t)
	for _, name := range driven("gemini") {
		c := bed.Open(t, "pty", bed.Member{Name: "one", CLI: name, Bare: true, TOML: "install_agent_hooks = []\n"})
		prompts := []string{"[[delay:10]] first", "second", "third", "fourth"}
		for i, text := range prompts {
			args := []string{"nudge", "one", text, "--wait", "submitted"}
			if i == len(prompts)-1 {
				args[4] = "consumed"
			}
			if i > 0 && i < len(prompts)-1 {
				args = append(args[:3], "--no-wait")
			}
			if out, err := c.Run(t.Context(), args...); err != nil {
				t.Fatalf("gc nudge %q: %v\n%s", text, err, out)
			}
		}
		var got []string
		for _, p := range c.Model.Prompts("one") {
			if text := strings.TrimSpace(p.Text); !strings.HasPrefix(text, "[town]") { // what it receives at its start
				got = append(got, text)
			}
		}
		if !slices.Equal(got, prompts) {
			t.Errorf("the model got %.600q, want %.600q", got, prompts)
		}
	}
}

// channelProcesses returns the channel of the city's agent, its server and its terminal client; of
// opencode the one process that is all three.
func channelProcesses(t *testing.T, root string) []int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-eo", "pid=,ppid=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var channel, server, client int
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		at, _ := os.Readlink("/proc/" + f[0] + "/cwd") // of the processes of others it cannot be read
		switch {
		case strings.HasPrefix(at, root) && filepath.Base(f[2]) == "opencode":
			client = pid
		case len(f) < 4 || !strings.Contains(line, root):
		case f[3] == "agent-channel":
			channel = pid
		case strings.Contains(line, " app-server "):
			server = pid
		case strings.Contains(line, " --remote "):
			client = pid
		}
	}
	return slices.DeleteFunc([]int{channel, server, client}, func(pid int) bool { return pid == 0 })
}

// awaitReplaced waits until none of the processes is left and as many others run.
func awaitReplaced(t *testing.T, c *bed.City, old []int) {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for limit := time.After(bed.StepTimeout); ; {
		now := channelProcesses(t, c.Root)
		if len(now) == len(old) && !slices.ContainsFunc(now, func(pid int) bool { return slices.Contains(old, pid) }) {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			out, _ := c.Run(t.Context(), "explain", "one") // the test fails anyway
			t.Fatalf("the agent was not started again: %v, before %v\n%s", now, old, out)
		}
	}
}
