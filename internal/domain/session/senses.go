package session

import (
	"cmp"
	"slices"
	"time"

	"gascity/runtime"
)

// Senses is the latest evidence of one session, by source. It belongs to one
// instance: another one's evidence replaces it all. The zero value knows
// nothing. Not for concurrent use.
type Senses struct {
	instance string
	readAt   time.Time // of the latest reading
	latest   []sensed  // the most trusted first, one for each source
	asked    bool      // the latest reading has a question that blocks the agent

	// Why the latest reading may not hold any more: reads have failed since, and
	// the agent has written since. Zero if not.
	failing, unread time.Time

	// The agent's output: when it wrote last, and the longest silence that it broke
	// since anything was sensed to change.
	output  time.Time
	changed time.Time
	silence time.Duration
}

type sensed struct {
	runtime.Evidence
	rank       int
	confidence Confidence
	pushed     bool
}

// Fold takes over a reading of the session's own channels. A source that said
// something in an earlier reading and says nothing now is forgotten: silence is
// never idle. A reading that is older than the latest is ignored. What blocks
// the agent is evidence of waiting, whatever else its source says.
func (s *Senses) Fold(reading runtime.Reading) {
	if reading.Instance != s.instance {
		*s = Senses{instance: reading.Instance}
	}
	if reading.At.Before(s.readAt) {
		return
	}
	s.readAt, s.asked = reading.At, reading.Pending != nil
	s.failing, s.unread = time.Time{}, time.Time{}
	says := slices.Clone(reading.Evidence)
	if p := reading.Pending; p != nil {
		says = slices.DeleteFunc(says, func(e runtime.Evidence) bool {
			return e.Source == asker(p) && e.Activity != runtime.ActivityWaiting
		})
		if !slices.ContainsFunc(says, func(e runtime.Evidence) bool { return e.Source == asker(p) }) {
			says = append(says, runtime.Evidence{
				Source: asker(p), Activity: runtime.ActivityWaiting, Kind: p.Kind, At: reading.At, Detail: "a question stands",
			})
		}
	}
	s.latest = slices.DeleteFunc(s.latest, func(had sensed) bool {
		return !had.pushed && !slices.ContainsFunc(says, func(e runtime.Evidence) bool { return e.Source == had.Source })
	})
	for i := range says {
		if says[i].At.IsZero() {
			says[i].At = reading.At
		}
		s.put(says[i], false)
	}
}

// Failed notes that the session's channels could not be read. What was read
// before is relied on for a while only, see [Rules]; fuse again then.
func (s *Senses) Failed(at time.Time) {
	if s.failing.IsZero() {
		s.failing = at
	}
}

// outdated is since when what was read may not hold any more; zero: it holds.
func (s *Senses) outdated() time.Time {
	if s.failing.IsZero() || !s.unread.IsZero() && s.unread.Before(s.failing) {
		return s.unread
	}
	return s.failing
}

// asker is the source that reported a question.
func asker(p *runtime.PendingInteraction) runtime.Source {
	return cmp.Or(runtime.Source(p.Metadata[runtime.MetaSource]), runtime.SourceScreen)
}

// Push takes over evidence that a source sent by itself and that no reading
// repeats, such as a hook's. It stays until the source says something else, or
// until it is stale. Evidence that is older than the source's latest is ignored.
func (s *Senses) Push(e runtime.Evidence) { s.put(e, true) }

// Heard notes when the agent wrote last; read the session's channels then. Without
// it, silence is not asked for before a missed end of a turn is healed.
func (s *Senses) Heard(at time.Time) {
	if !at.After(s.output) {
		return
	}
	if !s.output.IsZero() {
		s.silence = max(s.silence, at.Sub(latest(s.output, s.changed)))
	}
	if s.unread.IsZero() && !s.readAt.IsZero() && at.After(s.readAt) {
		s.unread = at
	}
	s.output = at
}

// quietFor is the longest silence since anything was sensed to change, and
// whether output is known of at all.
func (s *Senses) quietFor(now time.Time) (time.Duration, bool) {
	return max(s.silence, now.Sub(latest(s.output, s.changed))), !s.output.IsZero()
}

func (s *Senses) put(e runtime.Evidence, pushed bool) {
	rank, confidence := trust(e.Source)
	if !slices.Contains(activities, e.Activity) {
		e.Activity = runtime.ActivityUnknown
	}
	i := slices.IndexFunc(s.latest, func(had sensed) bool { return had.Source == e.Source })
	if i < 0 {
		i, _ = slices.BinarySearchFunc(s.latest, rank, func(had sensed, rank int) int { return cmp.Compare(had.rank, rank) })
		s.latest = slices.Insert(s.latest, i, sensed{rank: rank, confidence: confidence})
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
		s.changed, s.silence = latest(s.changed, e.Since), 0
	}
	had.Evidence, had.pushed = e, pushed
}

var activities = []runtime.Activity{
	runtime.ActivityReady, runtime.ActivityBusy, runtime.ActivityIdle,
	runtime.ActivityWaiting, runtime.ActivityLimited, runtime.ActivityBackground,
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
