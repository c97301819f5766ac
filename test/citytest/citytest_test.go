package citytest_test

import (
	"testing"
	"time"

	"gascity/client"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/citytest"
)

// TestACityLives proves that the city is a real one: its agents start, take a prompt, survive the
// controller and end with the city.
func TestACityLives(t *testing.T) {
	began := time.Now()
	city := citytest.New(t, `
[daemon]
shutdown_timeout = "50ms"
[[agents]]
name = "worker"
start_command = "fake_agent"
[[agents]]
name = "asker"
start_command = """`+fake.Script{Ask: &runtime.PendingInteraction{Kind: runtime.WaitPermission, Prompt: "May I?", Options: []string{"Yes", "No"}}}.Command()+`"""
[[agents]]
name = "deep"
start_command = """`+fake.Script{Busy: true}.Command()+`"""
`)
	before := city.AwaitRunning("worker", runtime.ActivityIdle)
	t.Logf("the first agent runs after %v", time.Since(began))
	city.AwaitRunning("deep", runtime.ActivityBusy)
	asker := city.Await("asker", func(a client.Agent) bool { return a.Pending == 1 })
	if asker.Activity.Kind != runtime.WaitPermission {
		t.Errorf("the asker is %+v, want that it waits for permission", asker.Activity)
	}
	r, err := city.Client.Nudge(t.Context(), "worker", client.NudgeRequest{Text: "hello", Wait: client.ReceiptSubmitted})
	if err != nil || r.State != client.ReceiptSubmitted {
		t.Errorf("the prompt is %+v, %v", r, err)
	}
	city.Leave()
	if _, err := city.Client.Status(t.Context()); err == nil {
		t.Error("a controller that was stopped answers")
	}
	city.Start()
	if after := city.AwaitRunning("worker"); after.Instance != before.Instance {
		t.Errorf("the next controller has the instance %s, want %s", after.Instance, before.Instance)
	}
	census, err := city.Client.StopCity(t.Context())
	if err != nil || !census.Clean || len(census.Sessions) != 3 {
		t.Errorf("the stop gives %+v, %v", census, err)
	}
	city.Wait()
	if names, err := city.Agents.ListRunning(""); err != nil || len(names) > 0 {
		t.Errorf("after the stop %v run, %v", names, err)
	}
}
