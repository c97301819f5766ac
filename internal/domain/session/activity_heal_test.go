package session

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/runtime"
)

// agentTrace is what an agent really does, in phases of whole seconds.
type agentTrace struct {
	word runtime.Activity
	from int
}

// TestLostEdgesHeal simulates an agent whose hook reports each change of its activity, and loses
// one report in ten. The screen is read once a second. The test checks that the concluded activity
// becomes right within a limited time, and does not change more often than the reports and the
// corrections require.
func TestLostEdgesHeal(t *testing.T) {
	const settle = 13 // seconds: healAfter, one reading, and a screen that is late
	rapid.Check(t, func(rt *rapid.T) {
		s := EvidenceSet{instance: "i"}
		var fused []runtime.Activity
		phases, end := drawPhases(rt)
		lost := 0
		for i, phase := range phases {
			until := end
			if i+1 < len(phases) {
				until = phases[i+1].from
			}
			if i > 0 && rapid.IntRange(0, 9).Draw(rt, "lost") == 0 {
				lost++
			} else {
				s.Push(asEdge(phase))
			}
			for now := phase.from; now < until; now++ {
				if phase.word == busy || now == phase.from {
					s.RecordOutput(at(float64(now)))
				}
				s.Fold(runtime.Reading{Instance: "i", At: at(float64(now)), Evidence: []runtime.Evidence{drawn(phases[:i+1], now)}})
				a, judged, _ := Fuse(&s, at(float64(now)), Rules{})
				if now >= phase.from+settle && a.State != phase.word {
					rt.Fatalf("%d s into %s it is %s\n%s", now-phase.from, phase.word, a.State, formatJudged(judged))
				}
				if phase.word == waiting && now > phase.from && (a.State == idle || a.State == busy) {
					rt.Fatalf("a question reads as %s\n%s", a.State, formatJudged(judged))
				}
				if len(fused) == 0 || fused[len(fused)-1] != a.State {
					fused = append(fused, a.State)
				}
			}
		}
		if most := len(phases) + 2*lost; len(fused) > most {
			rt.Fatalf("the truth changed %d times with %d lost edges, the fused activity %d times: %v", len(phases), lost, len(fused), fused)
		}
	})
}

// asEdge returns the report of a hook at the beginning of a phase.
func asEdge(phase agentTrace) runtime.Evidence {
	return evidenceAt(hook, phase.word, float64(phase.from), float64(phase.from))
}

// drawn returns what the screen shows: the real activity of one second before.
func drawn(phases []agentTrace, now int) runtime.Evidence {
	i := len(phases) - 1
	if phases[i].from == now && i > 0 {
		i--
	}
	return evidenceAt(screen, phases[i].word, float64(phases[i].from+1), float64(now))
}

// drawPhases draws the phases of a random agent, and when the last one ends.
func drawPhases(rt *rapid.T) (phases []agentTrace, end int) {
	for range rapid.IntRange(2, 30).Draw(rt, "phases") {
		word := rapid.SampledFrom([]runtime.Activity{busy, idle, waiting}).Draw(rt, "word")
		if len(phases) > 0 && phases[len(phases)-1].word == word {
			continue
		}
		phases = append(phases, agentTrace{word, end})
		end += rapid.IntRange(3, 40).Draw(rt, "seconds")
	}
	return phases, end
}

// TestMissedChangeIsCorrectedByTheScreen checks that the screen replaces a source of higher trust
// that has contradicted it for long, and only if the screen cannot have changed since.
func TestMissedChangeIsCorrectedByTheScreen(t *testing.T) {
	has := []runtime.Evidence{evidenceAt(status, busy, 0, 5), evidenceAt(screen, idle, 1, 5)}
	if a, _, _ := Fuse(sense(has...), at(100), Rules{}); a.State != busy {
		t.Errorf("95 s after the only reading it is %s, want busy: there was no look since", a.State)
	}
	s := sense(has...)
	s.RecordOutput(at(1))
	if a, _, _ := Fuse(s, at(100), Rules{}); a.State != idle || a.Confidence != ConfidenceGuess {
		t.Errorf("99 s after the last output it is %+v, want idle as a guess: the screen cannot have changed", a)
	}
}

// TestCorrectionStaysDuringOutput checks that further output does not end the correction of a
// missed change.
func TestCorrectionStaysDuringOutput(t *testing.T) {
	s := sense(evidenceAt(status, busy, 0, 100), evidenceAt(screen, idle, 50, 100))
	s.RecordOutput(at(50))
	for now := 101.0; now < 130; now++ {
		s.RecordOutput(at(now))
		s.Fold(runtime.Reading{Instance: "i", At: at(now), Evidence: []runtime.Evidence{evidenceAt(status, busy, 0, now), evidenceAt(screen, idle, 50, now)}})
		if a, judged, _ := Fuse(s, at(now), Rules{}); a.State != idle {
			t.Fatalf("with output after the heal it is %s again\n%s", a.State, formatJudged(judged))
		}
	}
	s.Fold(runtime.Reading{Instance: "i", At: at(130), Evidence: []runtime.Evidence{evidenceAt(status, busy, 130, 130), evidenceAt(screen, idle, 50, 130)}})
	if a, _, _ := Fuse(s, at(130), Rules{}); a.State != busy || a.Confidence != ConfidenceCertain {
		t.Errorf("after the next edge it is %+v, want busy for certain", a)
	}
}

// TestReportedQuestionIsNeverCorrected checks that a question that its source still reports is not
// replaced by another activity, however long other sources contradict it.
func TestReportedQuestionIsNeverCorrected(t *testing.T) {
	for _, source := range []runtime.Source{status, screen, transcript} {
		for _, lower := range []runtime.Activity{idle, busy, ready} {
			var s EvidenceSet
			for now := range 3600 {
				shown := evidenceAt(process, lower, 10, float64(now))
				if now < 10 {
					shown = evidenceAt(process, busy, 0, float64(now))
				}
				s.Fold(runtime.Reading{
					Instance: "i", At: at(float64(now)), Evidence: []runtime.Evidence{asks(source, "permission", 0, float64(now)), shown},
					Pending: &runtime.PendingInteraction{Kind: "permission", Metadata: map[string]string{runtime.MetaSource: string(source)}},
				})
				if a, judged, _ := Fuse(&s, at(float64(now)), Rules{}); a.State != waiting {
					t.Fatalf("%s still asks after %d s, and it is %s\n%s", source, now, a.State, formatJudged(judged))
				}
			}
		}
	}
}

// TestQuestionOfAHookEndsWhenTheScreenContinues checks that a question that a hook has reported is
// over when the screen has changed since and shows no question.
func TestQuestionOfAHookEndsWhenTheScreenContinues(t *testing.T) {
	for _, shown := range []runtime.Activity{busy, idle} {
		var s EvidenceSet
		s.Fold(runtime.Reading{Instance: "i", At: at(1)})
		s.Push(asks(hook, "permission", 2, 2))
		s.RecordOutput(at(50))
		s.Fold(runtime.Reading{Instance: "i", At: at(100), Evidence: []runtime.Evidence{evidenceAt(screen, shown, 50, 100)}})
		if a, judged, _ := Fuse(&s, at(100), Rules{}); a.State != shown || a.Confidence != ConfidenceGuess {
			t.Errorf("50 s after the screen went on it is %+v, want %s\n%s", a, shown, formatJudged(judged))
		}
	}
}

// TestActivityIsUnknownAfterFailedReadings checks that the activity becomes unknown when readings
// fail, or output is not read, for a while.
func TestActivityIsUnknownAfterFailedReadings(t *testing.T) {
	doubts := map[string]func(s *EvidenceSet, at time.Time){
		"reads fail":         (*EvidenceSet).RecordFailure,
		"output is not read": (*EvidenceSet).RecordOutput,
	}
	for name, doubt := range doubts {
		for _, tt := range []struct {
			source runtime.Source
			holds  float64 // seconds after the first sign
		}{{screen, 10}, {transcript, 10}, {status, 60}} {
			s := sense(evidenceAt(tt.source, idle, 0, 100))
			for now := 110.0; now < 110+tt.holds; now++ {
				doubt(s, at(now))
				a, _, next := Fuse(s, at(now), Rules{})
				if a.State != idle || a.Doubted {
					t.Fatalf("%s, %s: %v s later it is %+v, want idle still", name, tt.source, now-110, a)
				}
				if !next.Equal(at(110 + tt.holds)) {
					t.Fatalf("%s, %s: it is due to change at %v", name, tt.source, next.Sub(noon))
				}
			}
			if a, judged, _ := Fuse(s, at(110+tt.holds), Rules{}); a.State != unknown || !a.Doubted {
				t.Errorf("%s, %s: after the bound it is %+v, want unknown\n%s", name, tt.source, a, formatJudged(judged))
			}
			s.Fold(runtime.Reading{Instance: "i", At: at(300), Evidence: []runtime.Evidence{evidenceAt(tt.source, idle, 0, 300)}})
			if a, _, _ := Fuse(s, at(300), Rules{}); a.State != idle || a.Doubted {
				t.Errorf("%s, %s: after a fresh reading it is %+v, want idle", name, tt.source, a)
			}
		}
	}
}

// TestPushedEvidenceStaysAfterFailedReadings checks that evidence that a source sent by itself
// stays valid although readings fail.
func TestPushedEvidenceStaysAfterFailedReadings(t *testing.T) {
	var s EvidenceSet
	s.Push(evidenceAt(hook, busy, 0, 0))
	s.RecordFailure(at(1))
	s.RecordOutput(at(2))
	if a, _, _ := Fuse(&s, at(600), Rules{}); a.State != busy {
		t.Errorf("ten minutes of failing reads after a hook's word it is %+v, want busy", a)
	}
}
