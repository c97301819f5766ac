package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStartAfterTheSocketWasRemoved removes the directory of the controller's socket. The fix that gc status then
// prints works: gc start waits for the exit of that controller, and the next one takes over the same agents.
func TestStartAfterTheSocketWasRemoved(t *testing.T) {
	t.Parallel()
	c := newCity(t, 2)
	c.start()
	before := c.await("running", running)
	if err := os.RemoveAll(filepath.Join(c.root, ".runtime")); err != nil {
		t.Fatal(err)
	}
	out := c.run(t, "start")
	if !strings.Contains(out, "2 agents run") {
		t.Errorf("gc start said %q", out)
	}
	if err := <-c.ended; err != nil { // it exits by itself
		t.Logf("the first controller ended with %v", err)
	}
	c.ended = make(chan error) // the other is the child of another process
	after := c.await("running", running)
	if after.Controller.PID == before.Controller.PID {
		t.Errorf("the controller %d is still in charge", after.Controller.PID)
	}
	for i, a := range after.Agents {
		if a.PID != before.Agents[i].PID || a.Restarts != 0 {
			t.Errorf("%s is the process %d with %d restarts, was the process %d", a.Name, a.PID, a.Restarts, before.Agents[i].PID)
		}
	}
	census, err := c.client.StopCity(t.Context())
	if err != nil || !census.Clean {
		t.Fatalf("the end: %+v, %v", census, err)
	}
	c.cmd = nil
}
