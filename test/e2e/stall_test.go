package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity/client"
)

// TestStalledAgentIsShown runs real agents that report that they are busy. The first shows only a spinner and a
// clock and is stalled. The second prints new words and is not. The third hangs like the first and is restarted.
func TestStalledAgentIsShown(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "", nil)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(c.root, name), []byte(text), 0o700); err != nil { //nolint:gosec // agents run it
			t.Fatal(err)
		}
	}
	const works = "#!/bin/sh\nprintf '\\033]7501;status=working\\a'\n"
	write("spinner.sh", works+"n=0\nwhile :; do n=$((n+1)); case $((n%4)) in 0) s=⠋;; 1) s=⠙;; 2) s=⠹;; *) s=⠸;; esac\nprintf '\\r%s Pondering (%ss, esc to interrupt) %s' $s $n \"$(date +%T)\"; sleep 0.1; done\n")
	write("writer.sh", works+"while :; do head -c 12 /dev/urandom | od -An -c | tr -dc a-z; cat /proc/sys/kernel/random/uuid; sleep 0.1; done\n")
	toml := "[workspace]\nname = \"town\"\n[daemon]\nshutdown_timeout = \"1s\"\npatrol_interval = \"1s\"\nprogress_stall_timeout = \"3s\"\n"
	for _, a := range [][3]string{{"stuck", "spinner.sh", ""}, {"writer", "writer.sh", ""}, {"again", "spinner.sh", "on_stall = \"restart\"\n"}} {
		toml += fmt.Sprintf("[[agents]]\nname = %q\nstart_command = %q\n%s", a[0], "exec "+filepath.Join(c.root, a[1]), a[2])
	}
	write(client.CityFile, toml)
	c.start()
	first := pids(c.await("running", running))
	agents := func(s client.Status) map[string]client.Agent {
		out := map[string]client.Agent{}
		for _, a := range s.Agents {
			out[a.Name] = a
		}
		return out
	}
	c.await("stalled and restarted", func(s client.Status) bool {
		a := agents(s)
		if !a["writer"].StalledSince.IsZero() {
			t.Fatalf("an agent that prints new words counts as stalled: %+v", a["writer"])
		}
		return !a["stuck"].StalledSince.IsZero() && a["again"].PID != 0 && a["again"].PID != first["again"]
	})
	last := agents(c.await("answering", func(client.Status) bool { return true }))
	if last["stuck"].PID != first["stuck"] || last["writer"].PID != first["writer"] {
		t.Errorf("the processes were %v, and are %+v; want only the third replaced", first, last)
	}
	asked, err := c.client.Pending(t.Context(), "stuck", "")
	for end := time.Now().Add(waitLimit); err == nil && len(asked) == 0 && time.Now().Before(end); asked, err = c.client.Pending(t.Context(), "stuck", "") {
		pause(10 * time.Millisecond) // the question follows the state
	}
	if err != nil || len(asked) != 1 || asked[0].Kind != client.PendingStalled || time.Since(asked[0].Since) > waitLimit {
		t.Errorf("a person is asked %+v, %v; want one question about the stall", asked, err)
	}
	c.stop()
}
