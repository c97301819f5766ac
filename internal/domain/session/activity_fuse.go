package session

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gascity/runtime"
)

// Judged is one source's evidence and what the fusion made of it.
type Judged struct {
	runtime.Evidence
	Confidence Confidence
	Used       bool   // the activity rests on it
	Why        string // why it is used, or is not
}

const (
	// blindFactor is how much longer a source must contradict that has said the
	// same since before the edge: it may be blind to it.
	blindFactor = 6
	// certainFactor is how much longer what is certain is relied on although it
	// may not hold any more.
	certainFactor = 6
	// questionGrace is how long a screen may take to show that a question stands.
	questionGrace = 2 * time.Second
)

// Fuse concludes what the agent is doing. It is pure and forgets nothing between
// calls that the senses do not hold. The explanation has all evidence, the most
// trusted first.
//
// The most trusted source that is not stale decides. A newer observation of lower
// trust does not flip it, with these exceptions: a question that is seen wins at
// once, and so do a limit and background work over an agent that takes input; and
// what has contradicted for long enough heals a missed edge, as a guess. A
// question is never healed away as long as its source still reports it, or while
// it is seen to block the agent. Without evidence the activity is unknown:
// silence is never idle. The same holds when the activity of the agent could not
// be read for a while.
//
// Next is when the result is due to change without new evidence, or would with a
// fresh reading; zero if never. Read again and fuse then.
func Fuse(s *EvidenceSet, now time.Time, rules Rules) (activity Activity, explanation []Judged, next time.Time) {
	f := fusion{evidence: s, now: now, rules: rules.withDefaults(), judged: make([]Judged, len(s.latest))}
	for i := range s.latest {
		f.admit(i)
	}
	if len(f.live) == 0 {
		a := Activity{State: runtime.ActivityUnknown, Confidence: ConfidenceGuess, Detail: "no signal", Doubted: f.doubted}
		if f.doubted {
			a.Detail = "what it does could not be read for too long"
		}
		return a, f.judged, f.next
	}
	f.choose(f.live[0], "most reliable signal", s.latest[f.live[0]].confidence)
	for i := range overrides {
		f.applyOverride(&overrides[i])
	}
	f.replaceContradicted()
	return f.conclude(), f.judged, f.next
}

func (r Rules) withDefaults() Rules {
	r.HealAfter = cmp.Or(r.HealAfter, defaultHealAfter)
	r.Doubt = cmp.Or(r.Doubt, defaultDoubt)
	r.Stale = cmp.Or(r.Stale, defaultStale)
	r.StalePushed = cmp.Or(r.StalePushed, defaultStalePushed)
	return r
}

func (r *Rules) staleAt(e *ratedEvidence) time.Time {
	if d, ok := r.StaleOf[e.Source]; ok {
		return e.At.Add(d)
	}
	if e.pushed {
		return e.At.Add(r.StalePushed)
	}
	return e.At.Add(r.Stale)
}

// doubtAt returns when evidence is not relied on any more that may not hold; zero:
// it holds.
func (r *Rules) doubtAt(s *EvidenceSet, e *ratedEvidence) time.Time {
	since := s.outdatedSince()
	if since.IsZero() || e.pushed {
		return time.Time{}
	}
	if e.confidence == ConfidenceCertain {
		return since.Add(certainFactor * r.Doubt)
	}
	return since.Add(r.Doubt)
}

type fusion struct {
	evidence *EvidenceSet
	now      time.Time
	rules    Rules
	judged   []Judged // beside senses.latest
	live     []int    // indexes of what counts, the most trusted first

	choice     int
	confidence Confidence
	doubted    bool // something would count if it had been read lately
	next       time.Time
}

// due records a time at which the result may change.
func (f *fusion) due(at time.Time) {
	if at.After(f.now) && (f.next.IsZero() || at.Before(f.next)) {
		f.next = at
	}
}

// admit lets in what says something and is neither stale nor over.
func (f *fusion) admit(i int) {
	e := &f.evidence.latest[i]
	j := &f.judged[i]
	j.Evidence, j.Confidence = e.Evidence, e.confidence
	stale, doubt := f.rules.staleAt(e), f.rules.doubtAt(f.evidence, e)
	switch {
	case e.Activity == runtime.ActivityUnknown:
		j.Why = "it shows no activity"
		return
	case !doubt.IsZero() && !doubt.After(f.now):
		j.Why = "unreadable since " + f.evidence.outdatedSince().Format(time.TimeOnly) + " whether it still holds"
		f.doubted = true
	case !stale.After(f.now):
		j.Why = fmt.Sprintf("it was read %v ago and is stale", f.now.Sub(e.At).Round(time.Second))
	case e.Activity == runtime.ActivityLimited && !e.Until.IsZero() && !e.Until.After(f.now):
		j.Why = "the limit is over"
	default:
		j.Why = "a more reliable signal is used"
		f.live = append(f.live, i)
		f.due(stale)
		if e.Activity == runtime.ActivityLimited {
			f.due(e.Until)
		}
	}
	f.due(doubt)
}

func (f *fusion) choose(i int, why string, confidence Confidence) {
	if f.judged[f.choice].Used {
		f.judged[f.choice].Used, f.judged[f.choice].Why = false, fmt.Sprintf("%s says otherwise: %s", f.evidence.latest[i].Source, why)
	}
	f.choice, f.confidence = i, confidence
	f.judged[i].Used, f.judged[i].Why = true, why
}

// override is a word that wins over certain others of higher trust at once.
type override struct {
	word      runtime.Activity
	outranked []runtime.Activity
	why       string
}

var overrides = []override{
	{
		runtime.ActivityWaiting,
		[]runtime.Activity{
			runtime.ActivityReady, runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityLimited, runtime.ActivityBackground,
		},
		"a question is neither idle nor busy",
	},
	{
		runtime.ActivityLimited,
		[]runtime.Activity{runtime.ActivityReady, runtime.ActivityIdle, runtime.ActivityBackground},
		"nothing is served, whether it takes input or not",
	},
	{
		runtime.ActivityBackground,
		[]runtime.Activity{runtime.ActivityReady, runtime.ActivityIdle},
		"its turn is over, and its work is not",
	},
}

// applyOverride lets a word of lower trust win, unless it was read before the present
// choice began.
func (f *fusion) applyOverride(c *override) {
	chosen := &f.evidence.latest[f.choice]
	if !slices.Contains(c.outranked, chosen.Activity) {
		return
	}
	for _, i := range f.lowerTrust() {
		if e := &f.evidence.latest[i]; e.Activity == c.word && !e.At.Before(chosen.Since) {
			f.choose(i, c.why, e.confidence)
			return
		}
	}
}

// lowerTrust returns the live sources of lower trust than the choice.
func (f *fusion) lowerTrust() []int { return f.live[slices.Index(f.live, f.choice)+1:] }

// replaceContradicted believes the next source that has an opinion if it has contradicted the
// choice for long enough.
func (f *fusion) replaceContradicted() {
	chosen := &f.evidence.latest[f.choice]
	if chosen.Activity == runtime.ActivityWaiting && (f.evidence.asked || !chosen.pushed) {
		return // no edge was missed: it is still so
	}
	for _, i := range f.lowerTrust() {
		e := &f.evidence.latest[i]
		switch opinion(chosen.Activity, e.Activity) {
		case agrees:
			return
		case neutral:
			continue
		case contradicts:
		}
		due, ok := f.replaceableAt(chosen, e)
		if !ok {
			return
		}
		f.due(due)
		if due.After(f.now) || !f.isConfirmedUntil(e, due) {
			f.judged[i].Why = fmt.Sprintf("it contradicts %s, not for long enough yet", chosen.Source)
			return
		}
		f.choose(i, fmt.Sprintf("it has contradicted %s for so long that an edge was missed", chosen.Source), ConfidenceGuess)
		return
	}
}

// replaceableAt returns when e may replace the choice that it contradicts.
func (f *fusion) replaceableAt(chosen, e *ratedEvidence) (time.Time, bool) {
	bound := f.rules.HealAfter
	since := latest(chosen.Since, e.Since)
	takesInput := e.Activity == runtime.ActivityIdle || e.Activity == runtime.ActivityReady
	if chosen.Activity == runtime.ActivityWaiting && takesInput {
		// A screen that shows no question never saw it, unless it has changed since.
		if !e.Since.After(chosen.Since.Add(questionGrace)) {
			return time.Time{}, false
		}
	} else if !e.Since.After(chosen.Since) {
		bound *= blindFactor
	}
	due := since.Add(bound)
	if quiet, known := f.evidence.quietFor(f.now); known && takesInput && quiet < bound {
		due = latest(due, latest(f.evidence.lastOutput, f.evidence.changed).Add(bound))
	}
	return due, true
}

// isConfirmedUntil reports whether e was still so at a time: read then, or nothing was
// written since it was read.
func (f *fusion) isConfirmedUntil(e *ratedEvidence, at time.Time) bool {
	return e.pushed || !e.At.Before(at) || !f.evidence.lastOutput.IsZero() && !f.evidence.lastOutput.After(e.At)
}

func (f *fusion) conclude() Activity {
	e := &f.evidence.latest[f.choice]
	a := Activity{State: e.Activity, Kind: e.Kind, Source: e.Source, Since: e.Since, Confidence: f.confidence, Detail: e.Detail}
	a.Obstacle = f.obstacle(a.State)
	switch a.State {
	case runtime.ActivityLimited:
		a.Until = e.Until
	case runtime.ActivityWaiting:
		for _, i := range f.lowerTrust() {
			if low := &f.evidence.latest[i]; a.Kind == "" && low.Activity == runtime.ActivityWaiting {
				a.Kind = low.Kind
			}
		}
	default:
		a.Kind = ""
	}
	return a
}

// relation is how one word stands to another of higher trust.
type relation uint8

const (
	neutral relation = iota
	agrees
	contradicts
)

// opinion returns how a lower word stands to the chosen one. Ready says nothing
// about turns, so it contradicts a question alone; idle does not end background
// work or a limit, which only say more.
func opinion(chosen, lower runtime.Activity) relation {
	if chosen == lower {
		return agrees
	}
	switch chosen {
	case runtime.ActivityBusy:
		if slices.Contains([]runtime.Activity{runtime.ActivityIdle, runtime.ActivityBackground, runtime.ActivityLimited}, lower) {
			return contradicts
		}
	case runtime.ActivityIdle, runtime.ActivityReady:
		switch lower {
		case runtime.ActivityBusy:
			return contradicts
		case runtime.ActivityIdle, runtime.ActivityReady:
			return agrees
		default:
		}
	case runtime.ActivityWaiting:
		if lower != runtime.ActivityLimited {
			return contradicts
		}
	case runtime.ActivityBackground, runtime.ActivityLimited:
		if lower == runtime.ActivityBusy {
			return contradicts
		}
	default:
	}
	return neutral
}
