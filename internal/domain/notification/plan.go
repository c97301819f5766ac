package notification

import (
	"path"
	"slices"
	"time"

	"gascity/internal/config"
)

// Target is where messages go: a sink, or one device of a sink that has devices.
type Target struct{ Sink, Device string }

// String returns the name of the target in the saved state. The name of a sink has no slash.
func (t Target) String() string {
	if t.Device == "" {
		return t.Sink
	}
	return t.Sink + "/" + t.Device
}

// Rule states which subjects a target gets, and when. A target may have several rules.
type Rule struct {
	Sink   string
	Device string // empty: the sink has no devices
	Kinds  []Kind
	Agents []string      // patterns of names; empty: all agents
	For    time.Duration // how long a subject of NeedsMe must be open
	// MinTurn is the minimum length of a turn.
	MinTurn time.Duration
	// WhileAttached is true if the sink also gets subjects of agents that a person sees; see [Facts].
	WhileAttached bool
	Quiet         []config.DaySpan // nothing is sent in these times of the day
	Batch         time.Duration    // how long the first subject waits for others, to be sent in one message
}

// Batched is the number of subjects that are due at the same time for the same sink above which they are sent in one message
// even if the rule does not ask for that.
const Batched = 3

// MaxJoined is the largest number of subjects of one message. More are sent as several messages, so that each message can name
// all its questions: a device closes a message when none of the questions that it names is open.
const MaxJoined = 40

// obstacleDelay is how long a login or limit that is not a question must last: the question about it, which says more, often
// follows.
const obstacleDelay = 3 * time.Second

// quietUntil returns when the quiet hours at the time end; the time itself if there are none.
func (r *Rule) quietUntil(t time.Time) time.Time {
	for range len(r.Quiet) + 1 { // one span may begin where another ends
		for _, span := range r.Quiet {
			if end := span.End(t); !end.IsZero() {
				t = end
			}
		}
	}
	return t
}

// due returns when the rule sends the subject, without the delay of a batch; ok is false if it never sends it. The time may be in
// the past.
func (r *Rule) due(s *Subject, now time.Time) (at time.Time, ok bool) {
	matches := func(pattern string) bool {
		fits, err := path.Match(pattern, s.Agent)
		return err == nil && fits
	}
	if !slices.Contains(r.Kinds, s.Kind) || len(r.Agents) > 0 && !slices.ContainsFunc(r.Agents, matches) || s.Kind == Turn && s.Took < r.MinTurn {
		return at, false
	}
	at = s.Since
	if s.Kind.Group() == NeedsMe {
		delay := r.For
		if s.Question == "" && (s.Kind == Login || s.Kind == Limit) {
			delay = max(delay, obstacleDelay)
		}
		at = at.Add(delay)
	}
	if at.Before(now) {
		at = now
	}
	return r.quietUntil(at), true
}

// Facts are what Plan needs to know beside the subjects.
type Facts struct {
	Now time.Time // in the location of the quiet hours
	// Known reports whether there is a delivery of the subject to the target.
	Known func(subject string, t Target) bool
	// Seen reports whether a person sees the session now: a terminal is attached to it, or a dashboard has the focus.
	Seen func(session string) bool
}

// Batch is what is due now for one target. Joined is true if its subjects are sent in one message.
type Batch struct {
	Target   Target
	Subjects []Subject
	Joined   bool
}

// Plan returns what must be sent now, by target, and when something must be sent next; zero: never. done are the ids of subjects of
// the group [Finished] that no rule sends later, so that the caller can remove them.
func (s *State) Plan(rules []Rule, f Facts) (due []Batch, next time.Time, done []string) {
	targets := map[Target]*targetPlan{}
	var order []*targetPlan
	waits := map[string]bool{}
	for i := range rules {
		r := &rules[i]
		t := Target{r.Sink, r.Device}
		p := targets[t]
		if p == nil {
			p = &targetPlan{target: t, since: s.Sinks[t.String()]}
			targets[t] = p
			order = append(order, p)
		}
		for j := range s.Open {
			if at := p.add(r, &s.Open[j], f); !at.IsZero() {
				waits[s.Open[j].ID] = true
				next = earlier(next, at)
			}
		}
	}
	for _, p := range order {
		switch {
		case len(p.ready) == 0:
		case p.fire.After(f.Now):
			next = earlier(next, p.fire)
			for i := range p.ready {
				waits[p.ready[i].ID] = true
			}
		default:
			joined := len(p.ready) > 1 && (p.batch || len(p.ready) > Batched)
			for part := range slices.Chunk(p.ready, MaxJoined) {
				due = append(due, Batch{p.target, part, joined})
			}
		}
	}
	for i := range s.Open {
		if one := &s.Open[i]; one.Kind.Group() == Finished && !waits[one.ID] {
			done = append(done, one.ID)
		}
	}
	return due, next, done
}

// targetPlan collects what is due for one target.
type targetPlan struct {
	target Target
	since  time.Time
	ready  []Subject
	fire   time.Time // when the first of ready is sent
	batch  bool      // a rule of ready has a batch
}

// add adds the subject to what is sent now if the rule sends it now. Otherwise it returns when the rule will send it; zero:
// never, or that is not known.
func (p *targetPlan) add(r *Rule, s *Subject, f Facts) (later time.Time) {
	at, ok := r.due(s, f.Now)
	switch {
	case !ok || s.Since.Before(p.since) || f.Known(s.ID, p.target):
		return time.Time{}
	case at.After(f.Now):
		return at
	case !r.WhileAttached && f.Seen(s.Session):
		return time.Time{} // NeedsMe is planned again when no person sees the session any more; Finished is not sent
	}
	fire := f.Now
	if r.Batch > 0 {
		p.batch = true
		wait := r.Batch
		if s.Kind.Group() == NeedsMe {
			wait += r.For
		}
		if full := s.Since.Add(wait); full.After(fire) {
			fire = full
		}
	}
	if len(p.ready) == 0 || fire.Before(p.fire) {
		p.fire = fire
	}
	if !slices.ContainsFunc(p.ready, func(other Subject) bool { return other.ID == s.ID }) {
		p.ready = append(p.ready, *s)
	}
	return time.Time{}
}

// earlier returns the earlier of two times. Zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
