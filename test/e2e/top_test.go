package e2e

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// window is a terminal in a tmux server of its own.
type window struct {
	t      *testing.T
	socket string
}

// openWindow starts a terminal of 100x30 with a command in the directory dir. At the end of the test its server exits.
func openWindow(t *testing.T, dir, command string) *window {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux")
	}
	w := &window{t: t, socket: dir + "/top.sock"}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		out, err := exec.CommandContext(ctx, "tmux", "-S", w.socket, "kill-server").CombinedOutput()
		gone := strings.Contains(string(out), "no server") || strings.Contains(string(out), "server exited") // its last window was closed
		if err != nil && !gone {
			t.Errorf("cannot stop the tmux server: %v: %s", err, out)
		}
	})
	w.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "-c", dir, command)
	return w
}

// tmux runs a tmux command and returns its output.
func (w *window) tmux(args ...string) string {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), "tmux", append([]string{"-S", w.socket}, args...)...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (w *window) keys(names ...string) {
	w.t.Helper()
	w.tmux(append([]string{"send-keys"}, names...)...)
}

// await waits until the terminal shows, or does not show, a text.
func (w *window) await(text string, shown bool) {
	w.t.Helper()
	screen := ""
	for range 300 {
		if screen = w.tmux("capture-pane", "-p"); strings.Contains(screen, text) == shown {
			return
		}
		pause(50 * time.Millisecond)
	}
	w.t.Fatalf("the terminal does not come to show %q: %v; it shows:\n%s", text, shown, screen)
}

// TestTopInTmux drives the dashboard in a real tmux: it answers a question, sends a prompt, attaches and comes back, survives
// the death of its controller and a new size, and ends.
func TestTopInTmux(t *testing.T) {
	c := newCity(t, 3)
	c.start()
	c.await("running", running)
	w := openWindow(t, c.root, "GC_AGENT= TMUX= "+c.gc)
	w.await("3 agents", true)
	if _, err := c.client.Nudge(t.Context(), name(1), client.NudgeRequest{Text: "[[ask:Deploy now?|Yes|No]]"}); err != nil {
		t.Fatal(err)
	}
	w.await("1 needs you", true)
	w.keys("n")
	w.await("1 Yes", true)

	w.keys("n", "a", "2")
	w.await("answered "+name(1)+": No", true)
	w.await("1 needs you", false)

	w.keys("p", "from the dashboard", "Enter")
	w.await("prompt stored for "+name(1), true)
	w.await("You said", true) // on the live screen

	w.keys("Enter")
	c.await("attached", func(s client.Status) bool {
		return slices.ContainsFunc(s.Agents, func(a client.Agent) bool { return a.Name == name(1) && a.Attached > 0 })
	})
	w.await("3 agents", false)
	w.keys("C-q")
	w.await("3 agents", true)

	before := c.await("running", running)
	c.kill()
	w.await("controller away since", true)
	w.await(name(2), true)
	c.start()
	w.await("controller away since", false)
	w.keys("x", name(1), "Enter")
	c.await("the selected agent stopped", func(s client.Status) bool {
		return slices.ContainsFunc(s.Agents, func(a client.Agent) bool { return a.Name == name(1) && a.State == client.StateSuspended })
	})
	w.await("r starts it", true) // before that, Enter would attach to an agent that is being stopped
	w.keys("r", "Enter")
	after := c.await("running again", running)
	if pids(before)[name(0)] != pids(after)[name(0)] {
		t.Errorf("another agent was restarted")
	}

	w.tmux("resize-window", "-x", "60", "-y", "15")
	w.await("AGENT", true)
	w.keys("w")
	w.await("AGENT", false)
	w.keys("q")
	for range 200 { // the terminal of tmux ends with the dashboard
		if exec.CommandContext(t.Context(), "tmux", "-S", w.socket, "has-session").Run() != nil {
			return
		}
		pause(50 * time.Millisecond)
	}
	t.Error("q did not end the dashboard")
}
