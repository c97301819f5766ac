package session

import (
	"cmp"
	"slices"
	"time"

	"gascity/runtime"
)

// EvidenceSet is the latest evidence of one session, by source. It belongs to one
// instance: another one's evidence replaces it all. The zero value knows
// nothing. Not for concurrent use.
type EvidenceSet struct {
	instance string
	readAt   time.Time       // of the latest reading
	latest   []ratedEvidence // the most trusted first, one for each source
	asked    bool            // the latest reading has a question that blocks the agent

	// Why the latest reading may not hold any more: reads have failed since, and
	// the agent has written since. Zero if not.
	failing, unread time.Time

	// The agent's output: when it wrote last, and the longest silence that it broke
	// since anything was sensed to change.
	lastOutput     time.Time
	changed        time.Time
	longestSilence time.Duration
}

type ratedEvidence struct {
	runtime.Evidence
	rank       int
	confidence Confidence
	pushed     bool
}

// Fold takes over a reading of the session's own channels. A source that said
// something in an earlier reading and says nothing now is forgotten: silence is
// never idle. A reading that is older than the latest is ignored. What blocks
// the agent is evidence of waiting, whatever else its source says.
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
				Source: questionSource(p), Activity: runtime.ActivityWaiting, Kind: p.Kind, At: reading.At, Detail: "a question stands",
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

// RecordFailure records that the session's channels could not be read. What was read
// before is relied on for a while only, see [Rules]; fuse again then.
func (s *EvidenceSet) RecordFailure(at time.Time) {
	if s.failing.IsZero() {
		s.failing = at
	}
}

// outdatedSince is since when what was read may not hold any more; zero: it holds.
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

// Push takes over evidence that a source sent by itself and that no reading
// repeats, such as a hook's. It stays until the source says something else, or
// until it is stale. Evidence that is older than the source's latest is ignored.
func (s *EvidenceSet) Push(e runtime.Evidence) { s.put(e, true) }

// RecordOutput records when the agent wrote last; read the session's channels then. Without
// it, silence is not asked for before a missed end of a turn is healed.
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

// quietFor returns the longest silence since anything was sensed to change, and
// whether output is known of at all.
func (s *EvidenceSet) quietFor(now time.Time) (time.Duration, bool) {
	return max(s.longestSilence, now.Sub(latest(s.lastOutput, s.changed))), !s.lastOutput.IsZero()
}

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

var activities = []runtime.Activity{
	runtime.ActivityReady, runtime.ActivityBusy, runtime.ActivityIdle,
	runtime.ActivityWaiting, runtime.ActivityLimited, runtime.ActivityBackground,
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
