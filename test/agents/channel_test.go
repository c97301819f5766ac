package agents

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/test/agents/bed"
)

// TestPromptsByTheServer: texts that an input box would change reach the model byte for byte,
// each once, also in a conversation that a person has begun anew, and after each process of the
// agent has been killed. Text that a person has typed stays.
func TestPromptsByTheServer(t *testing.T) {
	together(t)
	for _, name := range driven("codex") {
		c := bed.Open(t, "pty", bed.Member{Name: "one", CLI: name})
		var want []string
		send := func(text string) {
			t.Helper()
			if out, err := c.Run(t.Context(), "nudge", "one", text, "--wait", "consumed"); err != nil {
				t.Fatalf("gc nudge %.40q: %v\n%s", text, err, out)
			}
			want = append(want, text)
		}
		settle := func() {
			t.Helper()
			if out, err := c.Run(t.Context(), "wait", "one", "--for", "idle", "--timeout", bed.Patience.String()); err != nil {
				t.Fatalf("gc wait: %v\n%s", err, out)
			}
		}
		settle()
		if len(channelProcesses(t, c.Root)) != 3 {
			t.Fatalf("the agent's processes are %v, want the channel, its server and its terminal", channelProcesses(t, c.Root))
		}
		if out, err := c.Run(t.Context(), "keys", "one", "a", "b", "@"); err != nil {
			t.Fatalf("gc keys: %v\n%s", err, out)
		}
		for _, text := range []string{
			"KK1 e\u0301 \u202eRTL\u202c", "AT1 look at @", `BS1 ends with \`, "CR1 one\r\ntwo", "NL1 ends\n\n\n", "   BL1 begins",
			"! echo 1", "#note", "soft\u00adhyphen\u200b\ufeff", strings.Repeat("long \u00e9 ", 12_000) + "end",
		} {
			send(text)
		}
		if out, err := c.Run(t.Context(), "peek", "one"); err != nil || !strings.Contains(out, "› ab@") {
			t.Errorf("the person's text is gone: %v\n%s", err, out)
		}
		if out, err := c.Run(t.Context(), "keys", "one", "BSpace", "BSpace", "BSpace"); err != nil {
			t.Fatalf("gc keys: %v\n%s", err, out)
		}
		if out, err := c.Run(t.Context(), "nudge", "one", "/new"); err != nil {
			t.Fatalf("gc nudge /new: %v\n%s", err, out)
		}
		send("after /new @")
		for i := range 3 {
			pids := channelProcesses(t, c.Root)
			if len(pids) != 3 {
				t.Fatalf("the agent's processes are %v", pids)
			}
			_ = syscall.Kill(pids[i], syscall.SIGKILL)
			awaitReplaced(t, c.Root, pids)
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

// channelProcesses are the channel of the city's agent, its server and its terminal client.
func channelProcesses(t *testing.T, root string) []int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-eo", "pid=,ppid=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var channel, server, client int
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.Contains(line, root) {
			continue
		}
		pid, _ := strconv.Atoi(f[0])
		switch {
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

// awaitReplaced waits until none of the processes is left and three others run.
func awaitReplaced(t *testing.T, root string, old []int) {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for limit := time.After(bed.Patience); ; {
		now := channelProcesses(t, root)
		if len(now) == 3 && !slices.ContainsFunc(now, func(pid int) bool { return slices.Contains(old, pid) }) {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("the agent was not started again: %v, before %v", now, old)
		}
	}
}
