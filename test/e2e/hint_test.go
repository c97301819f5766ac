package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

// TestHintsTakeEffectOnRunningAgents changes ready_prompt_prefix and process_names in city.toml
// while agents run. The agent whose prompt prefix was unknown is then ready and accepts a prompt, also under the
// next controller, and no agent is restarted.
func TestHintsTakeEffectOnRunningAgents(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"pty", "tmux"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(place); place == "tmux" && err != nil {
				t.Skip("there is no tmux")
			}
			c := newCityOf(t, "patrol_interval = \"1s\"\n", []member{{name: "one", ready: "NOPROMPT>", toml: "ready_delay_ms = 100\nsession = \"" + place + "\"\n"}})
			c.start()
			before := pids(c.await("running", running))
			state := func(s client.Status) string { return s.Agents[0].Activity.State }
			c.await("unknown", func(s client.Status) bool { return running(s) && state(s) != "ready" && state(s) != "idle" })
			path := filepath.Join(c.root, client.CityFile)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(text), "NOPROMPT>", "❯", 1) + "process_names = [\"fakeagent\"]\n"
			if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			takes := func(id string) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
				defer cancel()
				c.await("ready", func(s client.Status) bool { return state(s) == "ready" || state(s) == "idle" })
				receipt, err := c.client.Nudge(ctx, "one", client.NudgeRequest{Text: "hello " + id, Wait: "submitted"})
				if err != nil || receipt.State != "submitted" && receipt.State != "consumed" {
					t.Errorf("the prompt is %+v, %v", receipt, err)
				}
			}
			takes("first")
			c.kill()
			c.start()
			takes("second")
			if after := pids(c.await("running", running)); after["one"] != before["one"] {
				t.Errorf("the agent was restarted: %v, then %v", before, after)
			}
			c.stop()
		})
	}
}
