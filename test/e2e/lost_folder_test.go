package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// TestRuntimeFolderRemoved removes the folder of the sessions' sockets, as a login manager or a
// cleaner of /tmp does, while a controller runs, and then while none runs. The same agents continue, prompts
// arrive, nothing counts as a restart, and a stop stops everything.
func TestRuntimeFolderRemoved(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"pty", "subprocess", "tmux"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			if provider == "tmux" {
				if _, err := exec.LookPath("tmux"); err != nil {
					t.Skip("tmux is not installed here")
				}
			}
			c := newCityOf(t, "patrol_interval = \"500ms\"\n", nil)
			c.addFor("one", provider)
			c.addFor("two", provider)
			c.start()
			where := map[string]string{"one": provider, "two": provider}
			before := c.waitPlaced(where)
			for _, controller := range []string{"alive", "dead"} {
				if controller == "dead" {
					c.kill()
				}
				dir := c.runtimeDir()
				if err := errors.Join(os.Rename(dir, dir+"-gone"), os.RemoveAll(dir+"-gone")); err != nil { // in one step
					t.Fatal(err)
				}
				if controller == "dead" {
					c.start()
				}
				c.awaitConsumed("one", "the folder is gone and the controller "+controller)
				pause(1500 * time.Millisecond) // patrols
				if after := c.waitPlaced(where); after["one"] != before["one"] || after["two"] != before["two"] {
					t.Errorf("controller %s: the agents were %v and are %v", controller, before, after)
				}
				status := c.await("looked at", func(client.Status) bool { return true })
				for _, a := range status.Agents {
					if a.Restarts != 0 {
						t.Errorf("controller %s: %s counts %d restarts", controller, a.Name, a.Restarts)
					}
				}
				c.awaitConsumed("two", "again with the controller "+controller)
			}
			census := c.stop()
			if !census.Clean {
				t.Errorf("the stop reports %+v", census)
			}
			for _, name := range []string{"one", "two"} {
				if left := processes(c.ledgerOf(name)); len(left) > 0 {
					t.Errorf("after the stop %s runs in the processes %v", name, left)
				}
			}
		})
	}
}

// runtimeDir returns the folder that the city has chosen for its sockets.
func (c *city) runtimeDir() string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, ".gc", "runtime-dir"))
	dir := strings.TrimSpace(string(text))
	if err != nil || !filepath.IsAbs(dir) || strings.Count(dir, "/") < 3 {
		c.t.Fatalf("the folder for sockets is %q, %v", dir, err)
	}
	return dir
}

// awaitConsumed sends a prompt and waits until its agent has taken it.
func (c *city) awaitConsumed(agent, text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitLimit)
	defer cancel()
	r, err := c.client.Nudge(ctx, agent, client.NudgeRequest{Text: text, Wait: client.ReceiptSubmitted})
	// Standard input shows nothing of what was read.
	if err != nil || r.State != client.ReceiptSubmitted && r.State != client.ReceiptConsumed && r.Reason != "written to the agent's standard input, which shows no outcome" {
		c.t.Errorf("the prompt %q for %s: %+v, %v", text, agent, r, err)
	}
}
