package cluster_test

import (
	"fmt"
	osexec "os/exec"
	"strings"
	"testing"
)

// A person's terminal at an agent in a pod: its size follows, and when it is lost instead of
// detached no client counts as attached any more.
func TestAttachedTerminal(t *testing.T) {
	requireCluster(t)
	needs(t, "tmux")
	c := openPodCity(t, "[[agents]]\nname = \"one\"\nstart_command = \"exec bash --norc\"\n[agents.env]\nGC_K8S_PULL_POLICY = \"IfNotPresent\"\n")
	tmux := func(args ...string) string {
		out, _ := osexec.CommandContext(t.Context(), "tmux", append([]string{"-S", c.root + "/tmux", "-f", "/dev/null"}, args...)...).CombinedOutput()
		return string(out)
	}
	t.Cleanup(func() { tmux("kill-server") })
	attached := func(want int) func() bool {
		return func() bool {
			status, err := c.client.Status(t.Context())
			return err == nil && len(status.Agents) == 1 && status.Agents[0].Attached == want
		}
	}
	sized := func(columns, rows int) {
		t.Helper()
		eventually(t, "the size", func() bool {
			tmux("send-keys", "-t", "0", "echo size $(stty size)", "Enter")
			return strings.Contains(tmux("capture-pane", "-p", "-t", "0"), fmt.Sprintf("size %d %d", rows, columns))
		})
	}
	for _, lost := range []bool{false, true} {
		tmux("new-session", "-d", "-x", "100", "-y", "30", "exec "+program("gc")+" --city "+c.root+" attach one")
		eventually(t, "the terminal", attached(1))
		sized(100, 30)
		tmux("resize-window", "-t", "0", "-x", "70", "-y", "20")
		sized(70, 20)
		if lost {
			tmux("kill-server")
		} else {
			tmux("send-keys", "-t", "0", `C-\`) // inside a tmux with the prefix Ctrl-b, gc detaches at Ctrl-\
		}
		eventually(t, "the terminal's end", attached(0))
	}
}
