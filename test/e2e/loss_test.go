package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

// TestLostStoreIsReported removes or damages the database while no controller runs. The agents continue with
// their instance numbers, and a report says what was lost.
func TestLostStoreIsReported(t *testing.T) {
	t.Parallel()
	for what, harm := range map[string]func(path string) error{
		"missing": os.Remove,
		"damaged": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := newCityOf(t, "", []member{{name: "goes-on"}, {name: "held"}})
			c.start()
			c.await("running", running)
			for range 2 {
				if _, err := c.client.Restart(t.Context(), "goes-on"); err != nil {
					t.Fatal(err)
				}
			}
			before := agentIn(c.await("running", running), "goes-on")
			done, err := c.client.Suspend(t.Context(), "held", client.LifecycleRequest{})
			accept(t, done, err)
			if out := c.run(t, "status"); strings.Contains(out, "warning:") {
				t.Errorf("a sound city has a notice:\n%s", out)
			}
			c.kill()
			files, err := filepath.Glob(filepath.Join(c.root, ".gc", "city.db*"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no database: %v", err)
			}
			for _, file := range files {
				if err := harm(file); err != nil {
					t.Fatal(err)
				}
			}
			c.start()
			status := c.await("running", running)
			for _, command := range []string{"start", "status"} {
				if out := c.run(t, command); !strings.Contains(out, what) || !strings.Contains(out, "suspended, sleeping") {
					t.Errorf("gc %s does not say it:\n%s", command, out)
				}
			}
			if a := agentIn(status, "goes-on"); a.PID != before.PID || a.Epoch != before.Epoch || a.Instance != before.Instance || a.Epoch < 3 {
				t.Errorf("it is instance %d, process %d; it was %d, %d", a.Epoch, a.PID, before.Epoch, before.PID)
			}
			c.kill()
			c.start()
			if s := c.await("running again", running); len(s.Controller.Notices) != 0 {
				t.Errorf("another controller repeats %q", s.Controller.Notices)
			}
			c.stop()
		})
	}
}
