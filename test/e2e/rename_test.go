package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// TestPromptsOfARenamedAgentMove renames an agent in city.toml while it works on a prompt and
// others wait. The current one ends normally, the waiting ones are listed in the queue of the new name, and the
// agent gets each of them exactly once, in order, also if the controller is killed in between.
func TestPromptsOfARenamedAgentMove(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed: ", killed), func(t *testing.T) {
			t.Parallel()
			c := newCityOf(t, "patrol_interval = \"1s\"\n", []member{{name: "old", talks: true, toml: "ready_prompt_prefix = \"❯\""}})
			c.start()
			c.await("running", running)
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			send := func(agent, text, wait string) client.Receipt {
				t.Helper()
				r, err := c.client.Nudge(ctx, agent, client.NudgeRequest{Text: text, Wait: wait})
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				return r
			}
			first := send("old", "first [[busy:10s]]", "submitted")
			c.await("busy", func(s client.Status) bool { return s.Agents[0].Activity.State == "busy" })
			var ids []string
			for _, text := range []string{"second", "third", "fourth", "fifth", "sixth"} {
				ids = append(ids, send("old", text, "").ID)
			}
			path := filepath.Join(c.root, client.CityFile)
			toml, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			renamed := strings.Replace(string(toml), "name = \"old\"", "name = \"new\"", 1)
			if err := os.WriteFile(path, []byte(renamed), 0o600); err != nil {
				t.Fatal(err)
			}
			c.await("renamed", func(s client.Status) bool {
				for _, a := range s.Agents {
					if a.Name == "old" {
						return false
					}
				}
				queue, err := c.client.Queue(ctx, "", "")
				moved, left := 0, 0
				for _, r := range queue {
					switch {
					case r.State != "queued":
					case r.Agent == "new" && strings.HasSuffix(r.Session, "new"):
						moved++
					default:
						left++
					}
				}
				return err == nil && moved > 0 && left == 0
			})
			if killed {
				c.kill()
				c.start()
			}
			ids = append(ids, send("new", "seventh", "").ID)
			for _, id := range append([]string{first.ID}, ids...) {
				var r client.Receipt
				c.await("delivered", func(client.Status) bool {
					r, err = c.client.Receipt(ctx, id, "")
					return err == nil && (r.Closed || r.State == "consumed" || r.State == "dead" || r.State == "unconfirmed" || r.State == "expired")
				})
				if r.State != "consumed" && r.State != "submitted" {
					t.Errorf("%s is %s: %s", r.Text, r.State, r.Reason)
				}
			}
			records, err := ledger.Read(c.ledgerOf("old"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range records {
				if r.Kind == ledger.Prompt {
					got = append(got, strings.Fields(r.Text)[0])
				}
			}
			if strings.Join(got, " ") != "first second third fourth fifth sixth seventh" {
				t.Errorf("the agent got %q", got)
			}
			c.stop()
		})
	}
}
