package storetest

import (
	"fmt"
	"sync"
	"time"

	"gascity/internal/domain/usage"
)

// entry returns a usage entry of one response with this many output tokens.
func entry(run, message string, at time.Duration, output int64) usage.Entry {
	return usage.Entry{Run: run, Message: message, Session: "s", Agent: "a", At: start().Add(at), Model: "m", Source: "vendor", Tokens: usage.Tokens{Output: &output}}
}

// put stores usage entries and returns the results.
func (s *suite) put(entries ...usage.Entry) []usage.StoreResult {
	s.t.Helper()
	kept, err := s.Usage.PutUsage(s.ctx, entries)
	s.must(err)
	if len(kept) != len(entries) {
		s.t.Fatalf("%d entries were put, the answer has %d", len(entries), len(kept))
	}
	return kept
}

// spent checks that exactly these usage entries exist since the time.
func (s *suite) spent(since time.Time, want ...usage.Entry) {
	s.t.Helper()
	got, err := s.Usage.Usage(s.ctx, since)
	s.must(err)
	s.wantSame("the usage", want, got)
}

// usageKept checks that usage entries are stored with all their fields and combined by their keys.
func usageKept(s *suite) {
	s.spent(time.Time{})
	full := filled[usage.Entry](1)
	other := entry("r", "2", -time.Hour, 1)
	for _, k := range s.put(full, other) {
		if k.Before != nil || !k.Changed() {
			s.t.Errorf("a new entry was there before: %+v", k)
		}
	}
	s.recheck(func() { s.spent(time.Time{}, other, full) })
}

// usageMerged checks that each key has one entry, however often and in whatever order reports are
// stored.
func usageMerged(s *suite) {
	late, early := entry("r", "1", time.Second, 9), entry("r", "1", 0, 4)
	early.Turn = true
	s.put(late)
	both := s.put(early, entry("other", "1", 0, 1))
	want := usage.Merge(late, early)
	if k := both[0]; !k.Changed() {
		s.t.Error("a second report with more information did not change the entry")
	} else {
		s.wantSame("the answer", usage.StoreResult{Before: &late, After: want}, k)
	}
	for _, k := range s.put(late, early, early) {
		if k.Changed() {
			s.t.Errorf("a repeated report changed something: %+v", k)
		}
	}
	s.recheck(func() { s.spent(time.Time{}, entry("other", "1", 0, 1), want) })
	// The same key twice at once.
	s.put(entry("r", "2", time.Minute, 1), entry("r", "2", time.Minute, 5))
	s.recheck(func() { s.spent(start().Add(time.Minute), entry("r", "2", time.Minute, 5)) })
}

// usageSince checks that Usage returns only the entries since a time.
func usageSince(s *suite) {
	a, b, c := entry("r", "a", 2*time.Second, 1), entry("r", "b", time.Second, 1), entry("q", "c", 2*time.Second, 1)
	s.put(a, b, c)
	s.recheck(func() {
		s.spent(start(), b, c, a)
		s.spent(start().Add(2*time.Second), c, a)
		s.spent(start().Add(2*time.Second + 1))
	})
}

// usageConcurrent checks that concurrent reports of the same responses are combined without loss.
func usageConcurrent(s *suite) {
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 25 {
				if _, err := s.Usage.PutUsage(s.ctx, []usage.Entry{entry("r", fmt.Sprint(i), time.Duration(i)*time.Second, int64(w+1))}); err != nil {
					s.t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	var want []usage.Entry
	for i := range 25 {
		want = append(want, entry("r", fmt.Sprint(i), time.Duration(i)*time.Second, 4))
	}
	s.recheck(func() { s.spent(time.Time{}, want...) })
}
