package storetest

import (
	"time"

	"gascity/internal/domain/session"
)

// records checks that exactly these session records are stored.
func (s *suite) records(want ...session.Record) {
	s.t.Helper()
	got, err := s.Records.Load(s.ctx)
	s.must(err)
	s.wantSame("the list of records", want, got)
}

// recordKept checks that a session record is stored with all its fields.
func recordKept(s *suite) {
	s.records()
	r := filled[session.Record](1)
	r.Token = ""
	old := r
	old.State, old.Failures = "old", nil
	s.must(s.Records.Save(s.ctx, old))
	s.must(s.Records.Save(s.ctx, r))
	bare := session.Record{Session: r.Session, Provider: "another"}
	s.must(s.Records.Save(s.ctx, bare))
	s.recheck(func() { s.records(bare, r) })
	s.must(s.Records.Remove(s.ctx, r.Key()))
	s.must(s.Records.Remove(s.ctx, session.Key{Session: "never", Provider: "kept"}))
	s.recheck(func() { s.records(bare) })
}

// recordSorted checks that the records are returned sorted by session and provider.
func recordSorted(s *suite) {
	var want []session.Record
	for _, key := range []session.Key{{Session: "a", Provider: "p"}, {Session: "a", Provider: "q"}, {Session: "b", Provider: "a"}} {
		want = append(want, session.Record{Session: key.Session, Provider: key.Provider})
	}
	for _, i := range []int{2, 0, 1} {
		s.must(s.Records.Save(s.ctx, want[i]))
	}
	s.recheck(func() { s.records(want...) })
}

// recordSecret checks that a token is never stored.
func recordSecret(s *suite) {
	r := session.Record{Session: "a", Provider: "p", Token: "canary-token"}
	s.must(s.Records.Save(s.ctx, r))
	s.records(session.Record{Session: "a", Provider: "p"})
}

// recordCopy checks that a later change of a record in memory does not change the stored one.
func recordCopy(s *suite) {
	r := session.Record{Session: "a", Provider: "p", Failures: []time.Time{start()}}
	s.must(s.Records.Save(s.ctx, r))
	r.Failures[0] = start().Add(time.Hour)
	got, err := s.Records.Load(s.ctx)
	s.must(err)
	got[0].Failures[0] = start().Add(time.Hour)
	s.records(session.Record{Session: "a", Provider: "p", Failures: []time.Time{start()}})
}

// pendingKept checks that questions are stored, replaced by ID, and removed.
func pendingKept(s *suite) {
	load := func(want ...session.Pending) {
		s.t.Helper()
		got, err := s.Pending.LoadPending(s.ctx)
		s.must(err)
		s.wantSame("the list of questions", want, got)
	}
	load()
	late, early := filled[session.Pending](1), filled[session.Pending](2)
	late.ID, early.ID = "a-late", "b-early"
	late.Since = early.Since.Add(time.Nanosecond)
	s.must(s.Pending.SavePending(s.ctx, late))
	s.must(s.Pending.SavePending(s.ctx, early))
	s.recheck(func() { load(early, late) })
	late.State, late.Answer = "answered", "yes"
	s.must(s.Pending.SavePending(s.ctx, late))
	s.must(s.Pending.RemovePending(s.ctx, early.ID))
	s.must(s.Pending.RemovePending(s.ctx, "unknown"))
	s.recheck(func() { load(late) })
}

// waitKept checks that waits are stored, replaced by ID, and removed.
func waitKept(s *suite) {
	load := func(want ...session.Wait) {
		s.t.Helper()
		got, err := s.Waits.LoadWaits(s.ctx)
		s.must(err)
		s.wantSame("the list of waits", want, got)
	}
	load()
	late, early := filled[session.Wait](1), filled[session.Wait](2)
	late.ID, early.ID = "a-late", "b-early"
	late.CreatedAt = early.CreatedAt.Add(time.Nanosecond)
	s.must(s.Waits.SaveWait(s.ctx, late))
	s.must(s.Waits.SaveWait(s.ctx, early))
	s.recheck(func() { load(early, late) })
	early.State = "fulfilled"
	s.must(s.Waits.SaveWait(s.ctx, early))
	s.must(s.Waits.RemoveWait(s.ctx, late.ID))
	s.must(s.Waits.RemoveWait(s.ctx, "unknown"))
	s.recheck(func() { load(early) })
}
