package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// TestReviewAgreesWithDiff checks, for random changes of one agent, that Review gives the same
// action as Diff wherever it gives one.
func TestReviewAgreesWithDiff(t *testing.T) {
	tried, reviewed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		desired, w := drawSimulation(t)
		for _, s := range desired.Sessions { // most are as they should be
			o := healthy(*s)
			o.Epoch, o.StartedAt, o.CanRelaunch = 1, noon.Add(-time.Minute), true
			if rapid.Float64Range(0, 1).Draw(t, "drifted") > 0.7 {
				o.Stored.Core, o.Stored.Launch = "v1:other", "v1:other"
			}
			if rapid.Float64Range(0, 1).Draw(t, "sound") < 0.9 {
				w[s.Key()] = &o
			}
		}
		policy := Policy{MaxRestarts: 3, Disruptions: 1}
		policy.Frozen = rapid.SampledFrom([]string{"", "", "", "the disk is full"}).Draw(t, "frozen")
		policy.Stopping = rapid.Float64Range(0, 1).Draw(t, "stopping") > 0.9
		before := Diff(desired, w.observed(), noon, policy)
		for i, s := range desired.Sessions {
			o := w[s.Key()]
			if o == nil || !rapid.Bool().Draw(t, "changes") {
				continue
			}
			o.Activity = session.Activity{State: rapid.SampledFrom([]runtime.Activity{
				"", runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityReady, runtime.ActivityWaiting, runtime.ActivityLimited,
			}).Draw(t, "activity"), Since: noon}
			o.Pending = rapid.Bool().Draw(t, "pending")
			o.Observation.Attached = rapid.IntRange(-1, 1).Draw(t, "attached")
			tried++
			got, ok := Review(before[i], s, o, noon, policy)
			if !ok {
				continue
			}
			reviewed++
			if diff := cmp.Diff(Diff(desired, w.observed(), noon, policy)[i], got); diff != "" {
				t.Fatalf("the review differs (-diff +review):\n%s", diff)
			}
		}
	})
	if reviewed < tried/10 {
		t.Errorf("%d answers of %d: the test proves nothing", reviewed, tried)
	}
}
