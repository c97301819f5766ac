package session

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFailuresAccrueWithinTheWindowOnly(t *testing.T) {
	var r Record
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 5 {
		r.AddFailure(start.Add(time.Duration(i)*20*time.Minute), time.Hour, "exited with code 1")
	}
	if len(r.Failures) != 3 || r.Streak != 5 {
		t.Errorf("after 5 failures in 80 minutes the hour holds %d and the streak is %d, want 3 and 5", len(r.Failures), r.Streak)
	}
	r.ResetFailures()
	if len(r.Failures) != 0 || r.Streak != 0 || r.Fault != "" {
		t.Errorf("a forgiven record still holds %+v", r)
	}
}

func TestMemoryKeepsACopy(t *testing.T) {
	var m Memory
	r := Record{Session: "gc-town-a", Provider: "p", Failures: []time.Time{{}}}
	for _, each := range []Record{r, {Session: "gc-town-a", Provider: "q"}} {
		if err := m.Save(t.Context(), each); err != nil {
			t.Fatal(err)
		}
	}
	r.Failures[0] = time.Unix(9, 0)
	got, err := m.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{{Session: "gc-town-a", Provider: "p", Failures: []time.Time{{}}}, {Session: "gc-town-a", Provider: "q"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loaded records differ (-want +got):\n%s", diff)
	}
	if err := m.Remove(t.Context(), r.Key()); err != nil {
		t.Fatal(err)
	}
	if got, _ := m.Load(t.Context()); len(got) != 1 || got[0].Provider != "q" {
		t.Errorf("after the removal of one key %+v are left, want the other provider's", got)
	}
}
