package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/runtime"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns the time that is so many seconds after noon.
func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

// evidenceAt returns evidence of an activity since a time, as read at another time, both in seconds
// after noon.
func evidenceAt(source runtime.Source, word runtime.Activity, since, read float64) runtime.Evidence {
	return runtime.Evidence{Source: source, Activity: word, Since: at(since), At: at(read)}
}

// asks returns evidence of a question.
func asks(source runtime.Source, kind string, since, read float64) runtime.Evidence {
	e := evidenceAt(source, runtime.ActivityWaiting, since, read)
	e.Kind = kind
	return e
}

// limited returns evidence of a usage limit.
func limited(source runtime.Source, until, since, read float64) runtime.Evidence {
	e := evidenceAt(source, runtime.ActivityLimited, since, read)
	if until > 0 {
		e.Until = at(until)
	}
	return e
}

const (
	busy, idle, ready   = runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityReady
	waiting, background = runtime.ActivityWaiting, runtime.ActivityBackground
	unknown             = runtime.ActivityUnknown
	status, screen      = runtime.SourceStatus, runtime.SourceScreen
	hook, process       = runtime.SourceHook, runtime.SourceProcess
	transcript          = runtime.SourceTranscript
)

// sense returns the evidence after one reading, which was made at the latest time in the evidence.
func sense(evidence ...runtime.Evidence) *EvidenceSet {
	var s EvidenceSet
	r := runtime.Reading{Instance: "i", Evidence: evidence}
	for _, e := range evidence {
		r.At = latest(r.At, e.At)
	}
	s.Fold(r)
	return &s
}

// TestWhatTheEvidenceAmountsTo checks the activity that Fuse concludes from the evidence of several
// sources, its source, its confidence and when it may change.
func TestWhatTheEvidenceAmountsTo(t *testing.T) {
	tests := []struct {
		name  string
		has   []runtime.Evidence
		wrote float64 // the last output, 0: not known
		now   float64
		want  string // state/kind source confidence
		next  float64
	}{
		{"nothing is known: unknown, never idle", nil, 0, 1, "unknown  guess", 0},
		{"a source that does not know says nothing", []runtime.Evidence{evidenceAt(screen, unknown, 0, 1)}, 0, 1, "unknown  guess", 0},
		{"a word from the future says nothing", []runtime.Evidence{evidenceAt(status, "dreaming", 0, 1)}, 0, 1, "unknown  guess", 0},
		{"a screen alone is a guess", []runtime.Evidence{evidenceAt(screen, idle, 0, 1)}, 0, 1, "idle screen guess", 121},
		{"the program's word is certain", []runtime.Evidence{evidenceAt(status, idle, 0, 1)}, 0, 1, "idle osc7501 certain", 121},
		{"a transcript is likely", []runtime.Evidence{evidenceAt(transcript, busy, 0, 1)}, 0, 1, "busy transcript likely", 121},
		{"trust goes before time", []runtime.Evidence{evidenceAt(screen, idle, 90, 100), evidenceAt(status, busy, 95, 100)}, 0, 100, "busy osc7501 certain", 155},
		{
			"a question on the screen wins over a busy word at once",
			[]runtime.Evidence{evidenceAt(status, busy, 0, 100), asks(screen, "permission", 100, 100)},
			100, 100, "waiting/permission screen guess", 220,
		},
		{
			"a question on the screen wins over an idle word at once",
			[]runtime.Evidence{evidenceAt(status, idle, 0, 100), asks(screen, "menu", 100, 100)},
			100, 100, "waiting/menu screen guess", 220,
		},
		{
			"a question that was seen before the newer busy word is over",
			[]runtime.Evidence{evidenceAt(status, busy, 101, 102), asks(screen, "menu", 90, 100)},
			100, 102, "busy osc7501 certain", 220,
		},
		{
			"the kind of a question comes from the source that knows it",
			[]runtime.Evidence{evidenceAt(status, waiting, 99, 100), asks(screen, "login", 99, 100)},
			0, 100, "waiting/login osc7501 certain", 220,
		},
		{
			"idle on the screen does not flip a busy word",
			[]runtime.Evidence{evidenceAt(status, busy, 0, 100), evidenceAt(screen, idle, 92, 100)},
			80, 100, "busy osc7501 certain", 102,
		},
		{
			"idle on a silent screen heals a busy word after the bound",
			[]runtime.Evidence{evidenceAt(status, busy, 0, 100), evidenceAt(screen, idle, 90, 100)},
			80, 100, "idle screen guess", 220,
		},
		{
			"an agent that writes is not idle, whatever a rule says",
			[]runtime.Evidence{evidenceAt(status, busy, 0, 100), evidenceAt(screen, idle, 50, 100)},
			99, 100, "busy osc7501 certain", 109,
		},
		{
			"a screen that never changed may be blind to the turn: six times as long",
			[]runtime.Evidence{evidenceAt(status, busy, 60, 100), evidenceAt(screen, idle, 0, 100)},
			30, 100, "busy osc7501 certain", 120,
		},
		{
			"and heals after that",
			[]runtime.Evidence{evidenceAt(status, busy, 40, 100), evidenceAt(screen, idle, 0, 100)},
			30, 100, "idle screen guess", 220,
		},
		{
			"busy on the screen heals an idle word",
			[]runtime.Evidence{evidenceAt(status, idle, 0, 100), evidenceAt(screen, busy, 89, 100)},
			100, 100, "busy screen guess", 220,
		},
		{
			"an input box heals nothing: it may be there during a turn",
			[]runtime.Evidence{evidenceAt(status, busy, 0, 100), evidenceAt(screen, ready, 10, 100)},
			10, 100, "busy osc7501 certain", 220,
		},
		{
			"a process that works does not argue against the screen that agrees",
			[]runtime.Evidence{evidenceAt(status, idle, 0, 100), evidenceAt(screen, idle, 0, 100), evidenceAt(process, busy, 1, 100)},
			0, 100, "idle osc7501 certain", 220,
		},
		{
			"a question that the program reported is not healed by a screen that never showed it",
			[]runtime.Evidence{asks(status, "permission", 10, 100), evidenceAt(screen, idle, 11, 100)},
			11, 100, "waiting/permission osc7501 certain", 220,
		},
		{
			"a question that the program still reports is not over, whatever the screen shows",
			[]runtime.Evidence{asks(status, "permission", 10, 100), evidenceAt(screen, busy, 50, 100)},
			99, 100, "waiting/permission osc7501 certain", 220,
		},
		{
			"nor when the screen has changed and is silent",
			[]runtime.Evidence{asks(status, "permission", 10, 100), evidenceAt(screen, idle, 50, 100)},
			50, 100, "waiting/permission osc7501 certain", 220,
		},
		{
			"background work is not idle",
			[]runtime.Evidence{evidenceAt(status, idle, 0, 100), evidenceAt(screen, background, 20, 100)},
			0, 100, "background screen guess", 220,
		},
		{
			"background work is kept although the screen says idle",
			[]runtime.Evidence{evidenceAt(hook, background, 0, 100), evidenceAt(screen, idle, 20, 100)},
			20, 100, "background hook certain", 220,
		},
		{
			"background work does not hide a turn",
			[]runtime.Evidence{evidenceAt(status, busy, 0, 100), evidenceAt(screen, background, 99, 100)},
			100, 100, "busy osc7501 certain", 109,
		},
		{"a limit wins over an idle word", []runtime.Evidence{evidenceAt(status, idle, 0, 100), limited(screen, 150, 99, 100)}, 0, 100, "limited screen guess", 150},
		{"a limit does not win over a turn", []runtime.Evidence{evidenceAt(status, busy, 98, 100), limited(screen, 150, 99, 100)}, 0, 100, "busy osc7501 certain", 109},
		{"a limit ends when it said", []runtime.Evidence{evidenceAt(screen, ready, 0, 100), limited(hook, 100, 0, 100)}, 0, 100, "ready screen guess", 220},
		{"a limit that is over leaves nothing", []runtime.Evidence{limited(hook, 100, 0, 100)}, 0, 101, "unknown  guess", 0},
		{"a limit without an end stays", []runtime.Evidence{limited(screen, 0, 0, 100)}, 0, 100, "limited screen guess", 220},
		{"what is stale says nothing", []runtime.Evidence{evidenceAt(status, idle, 0, 1), evidenceAt(screen, busy, 0, 1)}, 0, 121, "unknown  guess", 0},
		{"an unknown source is the last", []runtime.Evidence{evidenceAt("crystal ball", busy, 0, 1), evidenceAt(process, idle, 0, 1)}, 0, 1, "idle process guess", 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sense(tt.has...)
			if tt.wrote > 0 {
				s.RecordOutput(at(tt.wrote))
			}
			a, judged, next := Fuse(s, at(tt.now), Rules{})
			state := string(a.State)
			if a.Kind != "" {
				state += "/" + a.Kind
			}
			if got := fmt.Sprintf("%s %s %s", state, a.Source, a.Confidence); got != tt.want {
				t.Errorf("fused to %q, want %q\n%s", got, tt.want, formatJudged(judged))
			}
			if want := at(tt.next); tt.next == 0 && !next.IsZero() || tt.next != 0 && !next.Equal(want) {
				t.Errorf("it is due to change at %v, want after %v s", next.Sub(noon), tt.next)
			}
			if len(judged) != len(tt.has) {
				t.Errorf("%d of %d pieces of evidence are explained", len(judged), len(tt.has))
			}
		})
	}
}

// formatJudged returns the explanation of an activity as text, one line for each piece of evidence.
func formatJudged(judged []Judged) string {
	var b strings.Builder
	for _, j := range judged {
		fmt.Fprintf(&b, "%s %s used=%v: %s\n", j.Source, j.Activity, j.Used, j.Why)
	}
	return b.String()
}

// TestNewInstanceHasNoOldEvidence checks that a reading of another instance removes all evidence
// about the previous one.
func TestNewInstanceHasNoOldEvidence(t *testing.T) {
	s := sense(evidenceAt(status, busy, 0, 10))
	s.Push(evidenceAt(hook, idle, 5, 5))
	s.Fold(runtime.Reading{Instance: "successor", At: at(11)})
	if a, judged, _ := Fuse(s, at(11), Rules{}); a.State != unknown || len(judged) != 0 {
		t.Errorf("the successor is %s on %d pieces of evidence, want unknown on none", a.State, len(judged))
	}
}

// TestMissingEvidenceIsNotIdle checks that the activity is unknown, not idle, if the only source
// reports nothing any more.
func TestMissingEvidenceIsNotIdle(t *testing.T) {
	s := sense(evidenceAt(screen, idle, 0, 10))
	s.Fold(runtime.Reading{Instance: "i", At: at(11)})
	if a, _, _ := Fuse(s, at(11), Rules{}); a.State != unknown {
		t.Errorf("a screen that no rule knows any more is %s, want unknown", a.State)
	}
}

// TestPushedEvidenceOutlivesReadingsThatDoNotRepeatIt checks that evidence that a source sent by
// itself, such as a hook, stays although later readings do not have it, until it is stale.
func TestPushedEvidenceOutlivesReadingsThatDoNotRepeatIt(t *testing.T) {
	s := sense(evidenceAt(screen, ready, 0, 1))
	s.Push(evidenceAt(hook, idle, 5, 5))
	s.Push(evidenceAt(hook, busy, 3, 3)) // late
	s.Fold(runtime.Reading{Instance: "i", At: at(3600), Evidence: []runtime.Evidence{evidenceAt(screen, ready, 0, 3600)}})
	if a, _, _ := Fuse(s, at(3600), Rules{}); a.State != idle || a.Source != hook || a.Confidence != ConfidenceCertain {
		t.Errorf("an hour after the hook's word it is %+v, want idle by the hook", a)
	}
	if a, _, _ := Fuse(s, at(3600), Rules{StalePushed: time.Minute}); a.State != ready {
		t.Errorf("with a stale hook it is %+v, want ready by the screen", a)
	}
}

// TestALateReadingIsIgnored checks that a reading that is older than the latest one changes
// nothing.
func TestALateReadingIsIgnored(t *testing.T) {
	s := sense(evidenceAt(status, idle, 50, 60))
	s.Fold(runtime.Reading{Instance: "i", At: at(40), Evidence: []runtime.Evidence{evidenceAt(screen, ready, 40, 40)}})
	if a, _, _ := Fuse(s, at(60), Rules{}); a.State != idle {
		t.Errorf("after a reading that came late it is %s, want idle", a.State)
	}
}

// TestBlockingQuestionMeansWaiting checks that an agent with a blocking question is waiting, even
// if the source of the question reports another activity.
func TestBlockingQuestionMeansWaiting(t *testing.T) {
	for _, source := range []runtime.Source{"", screen, status} {
		var s EvidenceSet
		s.Fold(runtime.Reading{
			Instance: "i", At: at(10), Evidence: []runtime.Evidence{evidenceAt(status, busy, 0, 10), evidenceAt(screen, idle, 0, 10)},
			Pending: &runtime.PendingInteraction{Kind: runtime.WaitQuestion, Metadata: map[string]string{runtime.MetaSource: string(source)}},
		})
		if a, _, _ := Fuse(&s, at(10), Rules{}); a.State != waiting || a.Kind != runtime.WaitQuestion {
			t.Errorf("with a question of source %q pending it is %+v, want waiting", source, a)
		}
	}
}

// TestSinceIsTheBeginningOfTheActivity checks that reading the same activity again does not change
// since when it lasts.
func TestSinceIsTheBeginningOfTheActivity(t *testing.T) {
	s := sense(runtime.Evidence{Source: screen, Activity: busy, At: at(1)})
	s.Fold(runtime.Reading{Instance: "i", At: at(9), Evidence: []runtime.Evidence{{Source: screen, Activity: busy}}})
	if a, _, _ := Fuse(s, at(9), Rules{}); !a.Since.Equal(at(1)) {
		t.Errorf("busy since %v, want since the first reading", a.Since.Sub(noon))
	}
}

// TestActivityDoesNotChangeBeforeNext checks, for random evidence, that the activity stays the same
// until the time that Fuse returns as next.
func TestActivityDoesNotChangeBeforeNext(t *testing.T) {
	words := append(slices.Clone(activities), unknown)
	rapid.Check(t, func(rt *rapid.T) {
		var has []runtime.Evidence
		for _, g := range grades {
			if !rapid.Bool().Draw(rt, string(g.source)) {
				continue
			}
			read := rapid.Float64Range(0, 200).Draw(rt, "read")
			e := evidenceAt(g.source, rapid.SampledFrom(words).Draw(rt, "word"), read-rapid.Float64Range(0, 100).Draw(rt, "lasts"), read)
			if e.Activity == runtime.ActivityLimited && rapid.Bool().Draw(rt, "bounded") {
				e.Until = at(rapid.Float64Range(0, 300).Draw(rt, "until"))
			}
			has = append(has, e)
		}
		s := sense(has...)
		if wrote := rapid.Float64Range(-100, 200).Draw(rt, "wrote"); wrote > 0 {
			s.RecordOutput(at(wrote))
		}
		if rapid.Bool().Draw(rt, "reads fail") {
			s.RecordFailure(at(rapid.Float64Range(100, 200).Draw(rt, "failed")))
		}
		now := at(200)
		for range 50 {
			first, judged, next := Fuse(s, now, Rules{})
			checkWord(rt, first, judged)
			if next.IsZero() {
				next = now.Add(time.Hour)
			}
			if !next.After(now) {
				rt.Fatalf("due at %v, which is not after %v", next.Sub(noon), now.Sub(noon))
			}
			between := now.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(now))-1).Draw(rt, "between")))
			if then, _, _ := Fuse(s, between, Rules{}); then != first {
				rt.Fatalf("%+v turned into %+v before it was due", first, then)
			}
			now = next
		}
	})
}

// checkWord checks that an activity is one that a source reported, and that all evidence has an
// explanation.
func checkWord(rt *rapid.T, a Activity, judged []Judged) {
	used := slices.DeleteFunc(slices.Clone(judged), func(j Judged) bool { return !j.Used })
	if a.State == unknown && len(used) != 0 || a.State != unknown && (len(used) != 1 || used[0].Activity != a.State || used[0].Source != a.Source) {
		rt.Fatalf("%+v rests on %s", a, formatJudged(used))
	}
	for _, j := range judged {
		if j.Why == "" {
			rt.Fatalf("nothing is said of %+v", j)
		}
	}
}

func BenchmarkFuse(b *testing.B) {
	s := sense(evidenceAt(status, busy, 0, 100), evidenceAt(transcript, busy, 0, 100), evidenceAt(screen, idle, 90, 100), evidenceAt(process, busy, 0, 100))
	s.RecordOutput(at(80))
	b.ReportAllocs()
	for b.Loop() {
		Fuse(s, at(100), Rules{})
	}
}
