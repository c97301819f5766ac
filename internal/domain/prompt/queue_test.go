package prompt

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestQueueOrder checks the order in which prompts are delivered: the one in delivery, then by priority, then by their
// acceptance.
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

// TestBackoffIsBounded checks that the pause after each refusal grows up to its maximum, and is short while a terminal is
// attached.
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

// TestMovesGiveTheOrderOfAList checks, for random moves, priorities and new prompts, that the queue has the order that a list has
// after the same moves, and that a move changes one receipt.
func TestMovesGiveTheOrderOfAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var receipts []*Receipt
		var list []string // of one priority
		seq := uint64(rapid.IntRange(0, 3).Draw(t, "first"))
		add := func() {
			seq++
			r := &Receipt{ID: fmt.Sprint("p", seq), Seq: seq, State: Queued, Priority: Normal}
			receipts, list = append(receipts, r), append(list, r.ID)
		}
		add()
		receipts = append(receipts, &Receipt{ID: "other", Seq: 1000, State: Queued, Priority: System}, &Receipt{ID: "on its way", Seq: 1001, State: Injected, Priority: Normal})
		moved := 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "add") && len(list) < 8 {
				add()
				receipts[len(receipts)-1].Seq = max(seq, 1001+seq)
				continue
			}
			id := rapid.SampledFrom(list).Draw(t, "id")
			next := rapid.SampledFrom(append(slices.Clone(list), "")).Draw(t, "next")
			if id == next || moved > 25 {
				continue
			}
			place, ok := PlaceBefore(receipts, id, next)
			if !ok {
				t.Fatalf("no place for %s before %q", id, next)
			}
			moved++
			receipts[slices.IndexFunc(receipts, func(r *Receipt) bool { return r.ID == id })].Place = place
			list = slices.DeleteFunc(list, func(x string) bool { return x == id })
			at := len(list)
			if next != "" {
				at = slices.Index(list, next)
			}
			list = slices.Insert(list, at, id)
		}
		var got []string
		for _, r := range Queue(receipts) {
			got = append(got, r.ID)
		}
		if want := append([]string{"on its way", "other"}, list...); !slices.Equal(got, want) {
			t.Fatalf("the queue is %v, want %v", got, want)
		}
	})
	if _, ok := PlaceBefore([]*Receipt{{ID: "a", Seq: 1, State: Queued}, {ID: "b", Seq: 2, State: Injected}}, "a", "b"); ok {
		t.Error("a prompt is moved before one that is on its way")
	}
}
