package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
)

// TestNothingChangesWhileTheStoreFails fills the disk of a busy city. The status is degraded, no agent is
// stopped or started, and only reads are allowed, because other permissions could not be recorded. When there
// is space again, the city continues.
func TestNothingChangesWhileTheStoreFails(t *testing.T) {
	c := newCityOf(t, "[guard]\nsets = [\"dangerous-command\"]\nunguarded = \"report\"\n", []member{{name: name(0)}, {name: name(1)}, {name: name(2)}})
	c.addGuarded(waitLimit)
	place := filepath.Join(c.root, ".gc")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	smallDisk(t, place, "6m")
	c.start()
	before := pids(c.await("running", running))
	c.expects("before", "Bash ls", "ran")
	ballast := filepath.Join(place, "ballast")
	fill(t, ballast)
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	if r, err := c.client.Nudge(ctx, name(0), client.NudgeRequest{Text: strings.Repeat("x", 100_000)}); err == nil {
		t.Errorf("a prompt was accepted that cannot be kept: %+v", r)
	}
	done, err := c.client.Suspend(ctx, name(1), client.LifecycleRequest{})
	t.Logf("an order while the disk is full gives %+v, %v", done, err)
	status := c.await("degraded", func(s client.Status) bool { return s.Controller.Degraded != "" })
	t.Logf("degraded: %s", status.Controller.Degraded)
	c.guardsOnFullDisk(t)
	pause(2 * time.Second)
	if diff := cmp.Diff(before, pids(c.await("answering", func(client.Status) bool { return true }))); diff != "" {
		t.Errorf("agents were ended or started while the store was full (-before +after):\n%s", diff)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	c.await("whole again", func(s client.Status) bool { return s.Controller.Degraded == "" })
	nudge(t, c, name(2), "after the flood")
	c.expects("after", "Bash ls", "ran")
	c.recorded(t)
	c.stop()
}

// guardsOnFullDisk requests authorization for a tool of each kind while nothing can be saved.
func (c *city) guardsOnFullDisk(t *testing.T) {
	t.Helper()
	for i, ask := range []struct{ call, outcome string }{
		{"Bash ls", "blocked"}, {"Write x", "blocked"}, {"Bash git push --force", "blocked"}, {"Bash sudo ls", "blocked"}, {"Read x", "ran"},
	} {
		word := fmt.Sprint("full", i)
		c.expects(word, ask.call, ask.outcome)
		if why := c.reads("why-"+word) + c.reads("said-"+word); i == 0 && !strings.Contains(why, "free some space") {
			t.Errorf("the agent does not learn what to do: %s", why)
		}
	}
}

// recorded compares the tools that the guarded agent has run with those that were allowed.
func (c *city) recorded(t *testing.T) {
	t.Helper()
	ran, err := filepath.Glob(filepath.Join(c.root, "ran-*"))
	if err != nil {
		t.Fatal(err)
	}
	events, err := c.client.PastEvents(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	allowed := 0
	for _, e := range events.Events {
		if e.Kind == "worker.authorize" && strings.Contains(e.Data["body"], `"allowed":true`) {
			allowed++
		}
	}
	if allowed != len(ran) {
		t.Errorf("%d calls have run (%v), and %d are recorded as allowed", len(ran), ran, allowed)
	}
}

// fill writes until the file system is full.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block := make([]byte, 1024)
	for {
		if _, err := file.Write(block); err != nil {
			return
		}
	}
}

// smallDisk mounts a file system of the size at the folder. Without root the test is left out.
func smallDisk(t *testing.T, place, size string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("to mount a small file system needs root")
	}
	if err := syscall.Mount("tmpfs", place, "tmpfs", 0, "size="+size+",mode=0700"); err != nil {
		t.Fatalf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(place, syscall.MNT_DETACH); err != nil {
			t.Errorf("cannot unmount %s: %v", place, err)
		}
	})
}

// TestKilledControllerOnAFullDisk: while the disk is full, no controller can start. gc start prints
// the reason and the fix, and the agents continue. When there is space again, the fix works: the same agents
// run, and the receipt of an earlier prompt is there.
func TestKilledControllerOnAFullDisk(t *testing.T) {
	c := newCityOf(t, "", []member{{name: name(0)}})
	place := filepath.Join(c.root, ".gc")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	smallDisk(t, place, "4m")
	c.start()
	before := c.awaitAgent(name(0), client.StateRunning)
	kept, err := c.client.Nudge(t.Context(), name(0), client.NudgeRequest{Text: "before", Wait: client.ReceiptSubmitted})
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(place, "ballast")
	fill(t, ballast)
	c.kill()
	fill(t, ballast+"-2") // the space that the exit of the controller has freed
	cmd := exec.CommandContext(t.Context(), c.gc, "start", "--city", c.root)
	cmd.Env = append(slices.Clone(c.cmd.Env), "NO_COLOR=1", "COLUMNS=500")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the disk is full") || !strings.Contains(string(out), "free some space, then: gc start") {
		t.Fatalf("gc start on a full disk: %v\n%s", err, out)
	}
	if err := syscall.Kill(before.PID, 0); err != nil {
		t.Errorf("the agent does not run any more: %v", err)
	}
	if err := errors.Join(os.Remove(ballast), os.Remove(ballast+"-2")); err != nil {
		t.Fatal(err)
	}
	c.start()
	if after := c.awaitAgent(name(0), client.StateRunning); after.PID != before.PID {
		t.Errorf("the agent was process %d and is process %d", before.PID, after.PID)
	}
	if r, err := c.client.Receipt(t.Context(), kept.ID, ""); err != nil || r.State != client.ReceiptSubmitted && r.State != client.ReceiptConsumed {
		t.Errorf("the prompt from before is %+v, %v", r, err)
	}
	nudge(t, c, name(0), "after")
	c.stop()
}
