package prompt

import (
	"slices"
	"testing"
	"time"
)

func TestQueueOrder(t *testing.T) {
	receipts := []*Receipt{
		{ID: "n1", Seq: 1, Priority: Normal, State: Queued},
		{ID: "n2", Seq: 2, Priority: Normal, State: Accepted},
		{ID: "now", Seq: 3, Priority: Normal, State: Injected},
		{ID: "u1", Seq: 4, Priority: Urgent, State: Queued},
		{ID: "s1", Seq: 5, Priority: System, State: Queued},
		{ID: "u2", Seq: 6, Priority: Urgent, State: Queued},
		{ID: "over", Seq: 0, Priority: System, State: Submitted},
		{ID: "dead", Seq: 0, Priority: System, State: Dead},
	}
	var got []string
	for _, r := range Queue(receipts) {
		got = append(got, r.ID)
	}
	if want := []string{"now", "s1", "u1", "u2", "n1", "n2"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	for id, want := range map[string]int{"s1": 1, "u2": 3, "n2": 5, "now": 0, "over": 0, "dead": 0, "none": 0} {
		if got := Position(receipts, id); got != want {
			t.Errorf("the position of %s is %d, want %d", id, got, want)
		}
	}
}

func TestBackoffIsBounded(t *testing.T) {
	last := time.Duration(0)
	for n := range 100 {
		got := Backoff(n, 0)
		if got < last || got < firstBackoff || got > maxBackoff || Backoff(n, 1) > attachedBackoff {
			t.Errorf("Backoff(%d) = %s after %s, attached %s", n, got, last, Backoff(n, 1))
		}
		last = got
	}
	if last != maxBackoff {
		t.Errorf("it ends with %s, want %s", last, maxBackoff)
	}
}
