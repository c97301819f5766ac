package session

import (
	"cmp"
	"slices"
	"time"

	"gascity/runtime"
)

// EvidenceSet contains the latest evidence of one session from each source. It belongs to one
// instance; evidence of another instance replaces all of it. The zero value is empty. Not for
// concurrent use.
type EvidenceSet struct {
	instance string
	readAt   time.Time       // of the latest reading
	latest   []ratedEvidence // the most trusted first, one for each source
	asked    bool            // the latest reading contains a question that blocks the agent

	// When the latest reading became doubtful: the first failed read after it, and the first
	// output after it. Zero if there was none.
	failing, unread time.Time

	// The agent's output: when it last wrote, when evidence last changed, and the longest silence
	// between outputs since that change.
	lastOutput     time.Time
	changed        time.Time
	longestSilence time.Duration
}

// ratedEvidence is evidence with the trust in its source.
type ratedEvidence struct {
	runtime.Evidence
	rank       int
	confidence Confidence
	pushed     bool
}

// Fold applies a reading of the session's own channels. Evidence of a source that is missing in
// the reading is removed: a missing report does not mean idle. A reading that is older than the
// latest is ignored. A question that blocks the agent counts as evidence of waiting, even if its
// source reports another activity.
func (s *EvidenceSet) Fold(reading runtime.Reading) {
	if reading.Instance != s.instance {
		*s = EvidenceSet{instance: reading.Instance}
	}
	if reading.At.Before(s.readAt) {
		return
	}
	s.readAt, s.asked = reading.At, reading.Pending != nil
	s.failing, s.unread = time.Time{}, time.Time{}
	says := slices.Clone(reading.Evidence)
	if p := reading.Pending; p != nil {
		says = slices.DeleteFunc(says, func(e runtime.Evidence) bool {
			return e.Source == questionSource(p) && e.Activity != runtime.ActivityWaiting
		})
		if !slices.ContainsFunc(says, func(e runtime.Evidence) bool { return e.Source == questionSource(p) }) {
			says = append(says, runtime.Evidence{
				Source: questionSource(p), Activity: runtime.ActivityWaiting, Kind: p.Kind, At: reading.At, Detail: "a question is open",
			})
		}
	}
	s.latest = slices.DeleteFunc(s.latest, func(had ratedEvidence) bool {
		return !had.pushed && !slices.ContainsFunc(says, func(e runtime.Evidence) bool { return e.Source == had.Source })
	})
	for i := range says {
		if says[i].At.IsZero() {
			says[i].At = reading.At
		}
		s.put(says[i], false)
	}
}

// RecordFailure records that the session's channels could not be read. Earlier readings are then
// used only for a limited time, see [Rules]; call [Fuse] again after that.
func (s *EvidenceSet) RecordFailure(at time.Time) {
	if s.failing.IsZero() {
		s.failing = at
	}
}

// outdatedSince returns since when the latest reading may be outdated, because a newer read failed
// or the agent wrote output after it; zero: it is up to date.
func (s *EvidenceSet) outdatedSince() time.Time {
	if s.failing.IsZero() || !s.unread.IsZero() && s.unread.Before(s.failing) {
		return s.unread
	}
	return s.failing
}

// questionSource returns the source that reported a question.
func questionSource(p *runtime.PendingInteraction) runtime.Source {
	return cmp.Or(runtime.Source(p.Metadata[runtime.MetaSource]), runtime.SourceScreen)
}

// Push adds evidence that a source sent by itself and that no reading repeats, such as a hook's.
// It stays until the source sends something else or until it is stale. Evidence that is older than
// the source's latest is ignored.
func (s *EvidenceSet) Push(e runtime.Evidence) { s.put(e, true) }

// RecordOutput records that the agent wrote output at this time; the caller should read the
// session's channels then. If the caller never calls it, a source that is contradicted may be
// replaced without waiting for silence.
func (s *EvidenceSet) RecordOutput(at time.Time) {
	if !at.After(s.lastOutput) {
		return
	}
	if !s.lastOutput.IsZero() {
		s.longestSilence = max(s.longestSilence, at.Sub(latest(s.lastOutput, s.changed)))
	}
	if s.unread.IsZero() && !s.readAt.IsZero() && at.After(s.readAt) {
		s.unread = at
	}
	s.lastOutput = at
}

// quietFor returns the longest time without output since the evidence last changed. known is false
// if no output was ever recorded.
func (s *EvidenceSet) quietFor(now time.Time) (time.Duration, bool) {
	return max(s.longestSilence, now.Sub(latest(s.lastOutput, s.changed))), !s.lastOutput.IsZero()
}

// put adds or replaces the evidence of one source.
func (s *EvidenceSet) put(e runtime.Evidence, pushed bool) {
	rank, confidence := trust(e.Source)
	if !slices.Contains(activities, e.Activity) {
		e.Activity = runtime.ActivityUnknown
	}
	i := slices.IndexFunc(s.latest, func(had ratedEvidence) bool { return had.Source == e.Source })
	if i < 0 {
		i, _ = slices.BinarySearchFunc(s.latest, rank, func(had ratedEvidence, rank int) int { return cmp.Compare(had.rank, rank) })
		s.latest = slices.Insert(s.latest, i, ratedEvidence{rank: rank, confidence: confidence})
	}
	had := &s.latest[i]
	if e.At.Before(had.At) {
		return
	}
	same := had.Activity == e.Activity && had.Kind == e.Kind && had.Source == e.Source
	switch {
	case e.Since.IsZero() && same:
		e.Since = had.Since
	case e.Since.IsZero():
		e.Since = e.At
	}
	if !same || !e.Since.Equal(had.Since) {
		s.changed, s.longestSilence = latest(s.changed, e.Since), 0
	}
	had.Evidence, had.pushed = e, pushed
}

// activities lists the known activities; any other counts as unknown.
var activities = []runtime.Activity{
	runtime.ActivityReady, runtime.ActivityBusy, runtime.ActivityIdle,
	runtime.ActivityWaiting, runtime.ActivityLimited, runtime.ActivityBackground,
}

// latest returns the latest of the times.
func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
