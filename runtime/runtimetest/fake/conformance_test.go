package fake_test

import (
	"strconv"
	"testing"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

func TestConformance(t *testing.T) {
	for _, r := range runtimetest.Run(t, fake.Harness(nil)) {
		if r.Status != runtimetest.Passed {
			t.Errorf("%s %s, but the fake has everything: %v", r.ID, r.Status, r.Detail)
		}
	}
}

// TestAgentsOfAHarnessHaveDistinctIDs: the suite kills an agent of a case that has ended by its process id, so no other case may
// have that id.
func TestAgentsOfAHarnessHaveDistinctIDs(t *testing.T) {
	h := fake.Harness(nil)
	seen := map[int]bool{}
	for i := range 5000 {
		p := h.New(t, strconv.Itoa(i))
		if err := p.Start(t.Context(), "a", runtime.Config{Command: "agent"}); err != nil {
			t.Fatal(err)
		}
		obs, err := runtime.Observe(t.Context(), p, "a")
		if err != nil {
			t.Fatal(err)
		}
		if obs.PID == 0 || seen[obs.PID] {
			t.Fatalf("agent %d has the process id %d; another one has it too, or it has none", i, obs.PID)
		}
		seen[obs.PID] = true
	}
}
