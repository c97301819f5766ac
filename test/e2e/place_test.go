package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// TestUnknownProviderStopsNoAgent sets the provider of a running agent to an unknown one, and then to one
// whose tool is missing. The agent continues at its provider with the reason, accepts prompts, and survives the
// controller. It moves when the tool exists, and a reverted change has no effect.
func TestUnknownProviderStopsNoAgent(t *testing.T) {
	t.Parallel()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed here")
	}
	c := newCityOf(t, "patrol_interval = \"500ms\"\n", nil)
	c.addFor("one", "pty")
	bin := filepath.Join(c.root, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	link := func(path string) {
		if err := os.Symlink(path, filepath.Join(bin, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"sh", "env"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		link(path)
	}
	c.env = []string{"PATH=" + bin}
	c.start()
	pid := c.waitPlaced(map[string]string{"one": "pty"})["one"]
	goesOn := func(why string) {
		t.Helper()
		c.await("the reason why the agent does not move", func(s client.Status) bool {
			for _, a := range s.Agents {
				if a.Provider == "pty" && a.State == client.StateRunning && strings.Contains(a.Reason, why) && strings.HasSuffix(a.Reason, "; it stays at pty") {
					return true
				}
			}
			return false
		})
		pause(1500 * time.Millisecond) // patrols
		if alive := processes(c.ledgerOf("one")); len(alive) != 1 || alive[0] != pid {
			t.Fatalf("the agent was process %d and is %v", pid, alive)
		}
		for _, words := range [][]string{{"explain", "one"}, {"plan"}, {"status"}} {
			if out := c.run(t, words...); !strings.Contains(out, "it stays at pty") {
				t.Errorf("gc %v does not say that it goes on:\n%s", words, out)
			}
		}
	}
	preview := func(place string) string {
		text, err := os.ReadFile(filepath.Join(c.root, client.CityFile))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(c.root, "other.toml")
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), `session = "pty"`, `session = "`+place+`"`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return c.run(t, "plan", file)
	}
	for _, place := range []string{"ptty", "tmux"} {
		if out := preview(place); !strings.Contains(out, "it stays at pty") || strings.Contains(out, "stop ") {
			t.Errorf("the plan of a move to %s:\n%s", place, out)
		}
	}
	c.edit(`session = "pty"`, `session = "ptty"`)
	goesOn(`there is no runtime provider "ptty"`)
	c.promptOnce(t, "one", "hello")
	c.kill()
	c.start()
	goesOn(`there is no runtime provider "ptty"`)
	c.edit(`session = "ptty"`, `session = "pty"`)
	if now := c.waitPlaced(map[string]string{"one": "pty"})["one"]; now != pid {
		t.Errorf("it was process %d, and is %d after the edit was taken back", pid, now)
	}
	c.edit(`session = "pty"`, `session = "tmux"`)
	goesOn("tmux is not in PATH")
	link(tmux)
	c.await("moved", func(s client.Status) bool {
		c.applyNow()
		return len(s.Agents) == 1 && s.Agents[0].Provider == "tmux" && s.Agents[0].State == client.StateRunning
	})
	if now := c.waitPlaced(map[string]string{"one": "tmux"})["one"]; now == pid {
		t.Error("it is at its new place, and still the same process")
	}
	if starts := len(ledger.Of(c.records(t, "one"), ledger.Start)); starts != 2 {
		t.Errorf("it was started %d times, want once at each place", starts)
	}
	c.once(t, "one")
	if census := c.stop(); !census.Clean {
		t.Errorf("the census of the end is %+v", census)
	}
}

// TestEmptyConfigurationStopsNoAgent empties city.toml, as a full disk and some editors do, in a city with the
// name of its directory. No agent is stopped, also not by the next controller.
func TestEmptyConfigurationStopsNoAgent(t *testing.T) {
	t.Parallel()
	c := newCity(t, 2)
	path := filepath.Join(c.root, client.CityFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Replace(string(text), `name = "town"`, `name = "`+filepath.Base(c.root)+`"`, 1)
	c.write(whole)
	c.start()
	before := pids(c.await("running", running))
	for _, empty := range []string{"", "\n \n"} {
		c.write(empty)
		status := c.await("the report that the file is empty", func(s client.Status) bool { return strings.Contains(s.Plan.Error, "is empty") })
		if diff := cmp.Diff(before, pids(status)); diff != "" || !running(status) {
			t.Errorf("agents ended for a file without a word:\n%s", diff)
		}
		c.write(whole)
		c.await("read again", func(s client.Status) bool { return s.Plan.Error == "" })
	}
	c.write("")
	c.await("the report that the file is empty", func(s client.Status) bool { return s.Plan.Error != "" })
	c.kill()
	if out, err := c.runGC(t.Context(), "controller", "run"); err == nil || !strings.Contains(out, "is empty") {
		t.Errorf("a controller starts without a configuration (%v):\n%s", err, out)
	}
	c.write(whole)
	c.start()
	if diff := cmp.Diff(before, pids(c.await("running", running))); diff != "" {
		t.Errorf("after the file was put back (-before +after):\n%s", diff)
	}
	c.stop()
}
