package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// newContext makes a city of one agent, whose worker is testdata/context-worker.py; it
// writes what it receives into the file.
func newContext(t *testing.T, more string) (c *city, told string) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if strings.Contains(","+os.Getenv("GC_TEST_REQUIRE")+",", ",python3,") {
			t.Fatal("python3 is required by GC_TEST_REQUIRE and not installed")
		}
		t.Skip("python3 is not installed")
	}
	worker, err := filepath.Abs("testdata/context-worker.py")
	if err != nil {
		t.Fatal(err)
	}
	c = newCityOf(t, "", nil)
	told = filepath.Join(c.root, "told")
	path := filepath.Join(c.root, client.CityFile)
	toml, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	toml = fmt.Appendf(toml, "[providers.sample]\ncommand = \"python3\"\nargs = [%q]\n"+
		"[[agents]]\nname = \"one\"\nsession = \"subprocess\"\nprovider = \"sample\"\nprompt_template = \"role.md\"\nnudge = \"Begin.\"\n%s\n[agents.env]\nTOLD = %q\n", worker, more, told)
	for name, data := range map[string][]byte{path: toml, filepath.Join(c.root, "role.md"): []byte("You are {{.Agent}}, and repair.\n" + strings.Repeat("A rule that is long.\n", 2000))} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c, told
}

// TestSectionsAreSentAgainAfterACompaction: a worker gets the output of gc prime at its start. When
// its context is full it gets a request to compact it, and then the output of gc prime in that mode, exactly
// and once, although the controller is killed.
func TestSectionsAreSentAgainAfterACompaction(t *testing.T) {
	t.Parallel()
	c, told := newContext(t, "[agents.context]\ncompact_at = 90\n")
	c.start()
	c.await("known by its worker", idleByWorker)
	if err := c.promptAndWait("one", "fill it"); err != nil {
		t.Fatal(err)
	}
	var got string
	c.await("sent again", func(client.Status) bool {
		data, err := os.ReadFile(told)
		got = string(data)
		return err == nil && strings.Contains(got, "\n== compact 1\n") && strings.HasSuffix(got, "\n")
	})
	c.kill()
	c.start()
	if err := c.promptAndWait("one", "go on"); err != nil {
		t.Fatal(err)
	}
	c.await("known by its worker again", idleByWorker)
	data, err := os.ReadFile(told)
	if err != nil || string(data) != got {
		t.Errorf("after another controller it received %q, %v", data, err)
	}
	want := ""
	for epoch, mode := range []string{"full", "compact"} {
		printed, err := exec.CommandContext(t.Context(), c.gc, "prime", "one", "--mode", mode, "--city", c.root).Output()
		if err != nil {
			t.Fatal(err)
		}
		want += fmt.Sprintf("== %s %d\n%s", mode, epoch, printed)
	}
	if got != want {
		t.Errorf("it received\n%s\nand gc prime prints\n%s", got, want)
	}
	if !strings.Contains(got, "[cut here: ") || !strings.Contains(got, "You are one, and repair.") {
		t.Errorf("it received %q, which is not its role, cut", got)
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
}

// TestCompactionContinuesAcrossControllers: controllers are killed during a compaction. A prompt and
// a requested restart wait until its end.
func TestCompactionContinuesAcrossControllers(t *testing.T) {
	t.Parallel()
	c, told := newContext(t, "[agents.context]\ncompact_at = 90\n")
	hold := told + ".hold"
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	c.await("known by its worker", idleByWorker)
	if err := c.promptAndWait("one", "fill it"); err != nil {
		t.Fatal(err)
	}
	compacts := func(s client.Status) bool {
		a := agentIn(s, "one")
		return a.Activity.State == "busy" && strings.Contains(a.Activity.Detail, "compacted")
	}
	c.await("compacts", compacts)
	before := c.oneOf("one", 0)
	if _, err := c.client.RequestRestart(t.Context(), "one", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.kill()
		c.start()
		c.await("still compacts", compacts)
	}
	if now := c.oneOf("one", 0); now.Epoch != before.Epoch || now.PID != before.PID {
		t.Errorf("it was restarted in its compaction: %+v, then %+v", before, now)
	}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	c.await("restarted", func(s client.Status) bool { return agentIn(s, "one").Epoch == before.Epoch+1 })
	if err := c.promptAndWait("one", "go on"); err != nil {
		t.Error(err)
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
}

// TestFullConversationIsReplaced: an agent whose context is full is restarted once in a new
// conversation, which gets a note about that, although the controller is killed during the restart.
func TestFullConversationIsReplaced(t *testing.T) {
	t.Parallel()
	c, told := newContext(t, "[agents.context]\nhandoff_at = 90\n")
	c.start()
	c.await("known by its worker", idleByWorker)
	before := c.oneOf("one", 0)
	if err := c.promptAndWait("one", "fill it"); err != nil {
		t.Fatal(err)
	}
	c.await("begun", func(client.Status) bool {
		past, err := c.client.PastEvents(t.Context(), 0)
		return err == nil && slices.ContainsFunc(past.Events, func(e client.Event) bool { return e.Data["step"] == "hand-off" })
	})
	c.kill()
	c.start()
	c.await("handed over", func(s client.Status) bool { return agentIn(s, "one").Epoch > before.Epoch && idleByWorker(s) })
	if err := c.promptAndWait("one", "go on"); err != nil {
		t.Error(err)
	}
	after := c.oneOf("one", 0).Epoch
	starts := int(after - before.Epoch) // two if the controller was killed in the middle of the first
	c.kill()
	c.start()
	if err := c.promptAndWait("one", "go on"); err != nil {
		t.Error(err)
	}
	if now := c.oneOf("one", 0); now.Epoch != after || starts > 2 {
		t.Errorf("it was restarted %d times, then %d times", starts, now.Epoch-after)
	}
	data, err := os.ReadFile(told)
	notes, full := strings.Count(string(data), "was handed over to you"), strings.Count(string(data), "== full 0")
	if err != nil || notes < 1 || notes > starts || full != notes+1 {
		t.Errorf("in %d starts it received %q, %v", starts, data, err)
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
}

// TestWorkerReportsItsExit: a worker reports its exit with a code while its process still runs. The process
// is stopped, the code is reported, and another instance runs.
func TestWorkerReportsItsExit(t *testing.T) {
	t.Parallel()
	c, _ := newContext(t, "")
	c.start()
	before := c.oneOf("one", 0)
	began := time.Now()
	if err := c.promptAndWait("one", "leave 7"); err != nil {
		t.Fatal(err)
	}
	exit := ""
	c.await("ended by its word", func(s client.Status) bool {
		a := agentIn(s, "one")
		if a.Exit != "" {
			exit = a.Exit
		}
		return a.Epoch > before.Epoch && a.State == client.StateRunning
	})
	t.Logf("another instance after %s; the last ended with %q", time.Since(began).Round(time.Millisecond), exit)
	if !strings.Contains(exit, "7") {
		t.Errorf("its end is reported as %q, want its code 7", exit)
	}
	if err := c.promptAndWait("one", "go on"); err != nil {
		t.Error(err)
	}
	if census := c.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
}
