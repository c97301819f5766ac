package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/worker"
)

// TestNothingOfARefusedFileIsInForce edits the guard, the policy of questions and on_pending in a city.toml that the controller
// refuses, because it renames the city. It checks that the previous settings stay, and that the same edits in an accepted file
// apply.
func TestNothingOfARefusedFileIsInForce(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	city := func(name, guard, mark string) string {
		return `
[workspace]
name = "` + name + `"
[daemon]
shutdown_timeout = "200ms"
on_pending = "echo ` + mark + ` >> ` + dir + `/reported"
[guard]
default = "` + guard + `"
[[agents]]
name = "a"
start_command = "echo \"$GC_WORKER_SOCKET $GC_RUN_ID $GC_WORKER_TOKEN\" > ` + said + `.new; mv ` + said + `.new ` + said + `; sleep 300"
`
	}
	root := newCity(t, city("town", "allow", "before"))
	r := runController(t, newDaemon(t), root)
	r.until("a", "running", func(a client.Agent) bool {
		_, err := os.Stat(said)
		return isRunning(a) && err == nil
	})
	text, err := os.ReadFile(said)
	words := strings.Fields(string(text))
	if err != nil || len(words) != 3 {
		t.Fatalf("the agent was given %d variables, %v", len(words), err)
	}
	w := &worker.Client{Socket: words[0], RunID: words[1], Token: words[2]}
	defer w.Close()
	allowed := func(want bool) {
		t.Helper()
		d, err := w.Authorize(t.Context(), worker.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)})
		if err != nil || d.Allowed != want {
			t.Errorf("the tool is allowed: %v (%s, %v), want %v", d.Allowed, d.Reason, err, want)
		}
	}
	reported := func(id, want string) {
		t.Helper()
		if _, err := w.Interaction(t.Context(), worker.Interaction{Event: worker.Raised, ID: id, Kind: "question", Text: id, FreeText: true}); err != nil {
			t.Fatal(err)
		}
		r.until("a", "reported by "+want, func(client.Agent) bool {
			text, _ := os.ReadFile(filepath.Join(dir, "reported"))
			lines := strings.Fields(string(text))
			return len(lines) > 0 && lines[len(lines)-1] == want
		})
		if _, err := w.Interaction(t.Context(), worker.Interaction{Event: worker.Resolved, ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	allowed(true)
	write(t, filepath.Join(root, client.CityFile), city("renamed", "deny", "refused"))
	if _, err := r.client.Reload(t.Context()); !errors.Is(err, client.ErrInvalid) {
		t.Fatalf("a file that renames the city: %v, want that it is refused", err)
	}
	allowed(true)
	reported("q1", "before")
	write(t, filepath.Join(root, client.CityFile), city("town", "deny", "after"))
	if _, err := r.client.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	allowed(false)
	reported("q2", "after")
	r.stopCity()
}
