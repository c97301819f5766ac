package session

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gascity/runtime"
)

// Judged is the evidence of one source and how [Fuse] treated it.
type Judged struct {
	runtime.Evidence
	Confidence Confidence
	Used       bool   // the activity is taken from it
	Why        string // why it is used or not
}

const (
	// blindFactor multiplies healAfter for a contradicting source that has not changed since
	// before the chosen evidence, because it may not show such a change at all.
	blindFactor = 6
	// certainFactor multiplies doubtAfter for evidence with the confidence certain.
	certainFactor = 6
	// questionGrace is how long a screen may take to show an open question.
	questionGrace = 2 * time.Second
)

// Fuse returns the agent's activity according to all evidence. It is pure and keeps no state
// between calls. The explanation lists all evidence, the most trusted first.
//
// The most trusted source that is not stale decides. A source of lower trust overrides it only in
// these cases:
//   - It reports an open question.
//   - It reports a usage limit or background work, while the chosen source reports an agent that
//     accepts input.
//   - It has contradicted the chosen source for long enough. The result is then a guess. This case
//     never hides a question that the chosen source still reports, or that blocks the agent.
//
// Without evidence that is not stale the activity is unknown, not idle; the detail says whether it
// could not be read.
//
// next is when the result may change without new evidence; zero if never. Read the evidence and
// call Fuse again at that time.
func Fuse(s *EvidenceSet, now time.Time, rules Rules) (activity Activity, explanation []Judged, next time.Time) {
	f := fusion{evidence: s, now: now, rules: rules.withDefaults(), judged: make([]Judged, len(s.latest))}
	for i := range s.latest {
		f.admit(i)
	}
	if len(f.live) == 0 {
		a := Activity{State: runtime.ActivityUnknown, Confidence: ConfidenceGuess, Detail: "no signal", Doubted: f.doubted}
		if f.doubted {
			a.Detail = "its activity could not be read for too long"
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

// withDefaults returns the rules with zero fields replaced by the defaults.
func (r Rules) withDefaults() Rules {
	r.Stale = cmp.Or(r.Stale, defaultStale)
	r.StalePushed = cmp.Or(r.StalePushed, defaultStalePushed)
	return r
}

// staleAt returns when the evidence is too old to be used.
func (r *Rules) staleAt(e *ratedEvidence) time.Time {
	if e.pushed {
		return e.At.Add(r.StalePushed)
	}
	return e.At.Add(r.Stale)
}

// doubtAt returns when evidence that may be outdated is no longer used; zero: it is not outdated.
// Evidence becomes outdated when newer reads of the session fail or when the agent wrote output
// that was not read yet.
func (s *EvidenceSet) doubtAt(e *ratedEvidence) time.Time {
	since := s.outdatedSince()
	if since.IsZero() || e.pushed {
		return time.Time{}
	}
	if e.confidence == ConfidenceCertain {
		return since.Add(certainFactor * doubtAfter)
	}
	return since.Add(doubtAfter)
}

// fusion is the state of one call of [Fuse].
type fusion struct {
	evidence *EvidenceSet
	now      time.Time
	rules    Rules
	judged   []Judged // same indexes as evidence.latest
	live     []int    // indexes of the evidence that counts, the most trusted first

	choice     int
	confidence Confidence
	doubted    bool // some evidence is not used only because it was not read recently
	next       time.Time
}

// due records that the result may change at the given time without new evidence. The earliest such
// time becomes the result next of [Fuse].
func (f *fusion) due(at time.Time) {
	if at.After(f.now) && (f.next.IsZero() || at.Before(f.next)) {
		f.next = at
	}
}

// admit decides whether the evidence with index i is used: it must report an activity and be
// neither stale nor outdated. Otherwise admit records why not.
func (f *fusion) admit(i int) {
	e := &f.evidence.latest[i]
	j := &f.judged[i]
	j.Evidence, j.Confidence = e.Evidence, e.confidence
	stale, doubt := f.rules.staleAt(e), f.evidence.doubtAt(e)
	switch {
	case e.Activity == runtime.ActivityUnknown:
		j.Why = "it reports no activity"
		return
	case !doubt.IsZero() && !doubt.After(f.now):
		j.Why = "it could not be confirmed since " + f.evidence.outdatedSince().Format(time.TimeOnly)
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

// choose makes the evidence with index i the one that determines the activity, in place of the
// previous choice, and records why.
func (f *fusion) choose(i int, why string, confidence Confidence) {
	if f.judged[f.choice].Used {
		f.judged[f.choice].Used, f.judged[f.choice].Why = false, fmt.Sprintf("%s was used instead: %s", f.evidence.latest[i].Source, why)
	}
	f.choice, f.confidence = i, confidence
	f.judged[i].Used, f.judged[i].Why = true, why
}

// override is an activity that replaces certain others of higher trust at once.
type override struct {
	activity  runtime.Activity
	outranked []runtime.Activity
	why       string
}

var overrides = []override{
	{
		runtime.ActivityWaiting,
		[]runtime.Activity{
			runtime.ActivityReady, runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityLimited, runtime.ActivityBackground,
		},
		"an open question overrides idle and busy",
	},
	{
		runtime.ActivityLimited,
		[]runtime.Activity{runtime.ActivityReady, runtime.ActivityIdle, runtime.ActivityBackground},
		"a usage limit overrides idle",
	},
	{
		runtime.ActivityBackground,
		[]runtime.Activity{runtime.ActivityReady, runtime.ActivityIdle},
		"background work overrides idle",
	},
}

// applyOverride chooses evidence of lower trust that reports the activity of the override c, if the
// currently chosen activity is one that c overrides. Evidence from before the chosen activity began
// does not count.
func (f *fusion) applyOverride(c *override) {
	chosen := &f.evidence.latest[f.choice]
	if !slices.Contains(c.outranked, chosen.Activity) {
		return
	}
	for _, i := range f.lowerTrust() {
		if e := &f.evidence.latest[i]; e.Activity == c.activity && !e.At.Before(chosen.Since) {
			f.choose(i, c.why, e.confidence)
			return
		}
	}
}

// lowerTrust returns the indexes of the live evidence with lower trust than the chosen one.
func (f *fusion) lowerTrust() []int { return f.live[slices.Index(f.live, f.choice)+1:] }

// replaceContradicted corrects a missed change: if evidence of lower trust has contradicted the
// chosen evidence for long enough, it is chosen instead. A question that is still open is never
// replaced.
func (f *fusion) replaceContradicted() {
	chosen := &f.evidence.latest[f.choice]
	if chosen.Activity == runtime.ActivityWaiting && (f.evidence.asked || !chosen.pushed) {
		return // the question is still open
	}
	for _, i := range f.lowerTrust() {
		e := &f.evidence.latest[i]
		switch relationOf(chosen.Activity, e.Activity) {
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
			f.judged[i].Why = fmt.Sprintf("it contradicts %s, but not for long enough yet", chosen.Source)
			return
		}
		f.choose(i, fmt.Sprintf("it has contradicted %s for so long that %[1]s probably missed a change", chosen.Source), ConfidenceGuess)
		return
	}
}

// replaceableAt returns the time from which e may replace the chosen evidence, which it
// contradicts. ok is false if it may not replace it.
func (f *fusion) replaceableAt(chosen, e *ratedEvidence) (time.Time, bool) {
	bound := healAfter
	since := latest(chosen.Since, e.Since)
	takesInput := e.Activity == runtime.ActivityIdle || e.Activity == runtime.ActivityReady
	if chosen.Activity == runtime.ActivityWaiting && takesInput {
		// A screen without the question counts only if it changed after the question was reported.
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

// isConfirmedUntil reports whether e was still true at the given time: it was read then or later, it
// was pushed, or the agent has written nothing since it was read.
func (f *fusion) isConfirmedUntil(e *ratedEvidence, at time.Time) bool {
	return e.pushed || !e.At.Before(at) || !f.evidence.lastOutput.IsZero() && !f.evidence.lastOutput.After(e.At)
}

// conclude returns the activity of the chosen evidence, with details from other evidence.
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

// relation states how evidence of lower trust relates to the chosen activity.
type relation uint8

const (
	neutral relation = iota
	agrees
	contradicts
)

// relationOf returns how an activity of lower trust relates to the chosen one. Ready gives no
// information about turns, so it contradicts only a question. Idle does not contradict background
// work or a limit, because those are more specific.
func relationOf(chosen, lower runtime.Activity) relation {
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
