package session

import (
	"testing"

	"pgregory.net/rapid"

	"gascity/runtime"
)

// truth is what an agent really does, in phases of whole seconds.
type truth struct {
	word runtime.Activity
	from int
}

// TestLostEdgesHeal plays an agent that tells each change by a status, of which
// one in ten is lost, and whose screen is read once a second. The fused activity
// comes to the truth within the bound, and changes no more often than the truth
// did, one heal and its end for each lost edge included.
func TestLostEdgesHeal(t *testing.T) {
	const settle = 13 // seconds: HealAfter, one reading, and a screen that is late
	rapid.Check(t, func(rt *rapid.T) {
		var s Senses
		var fused []runtime.Activity
		phases, end := drawPhases(rt)
		pushed, lost := truth{}, 0
		for i, phase := range phases {
			until := end
			if i+1 < len(phases) {
				until = phases[i+1].from
			}
			if i > 0 && rapid.IntRange(0, 9).Draw(rt, "lost") == 0 {
				lost++
			} else {
				pushed = phase
			}
			for now := phase.from; now < until; now++ {
				if phase.word == busy || now == phase.from {
					s.Heard(at(float64(now)))
				}
				s.Fold(runtime.Reading{Instance: "i", At: at(float64(now)), Evidence: []runtime.Evidence{
					says(status, pushed.word, float64(pushed.from), float64(now)), drawn(phases[:i+1], now),
				}})
				a, judged, _ := Fuse(&s, at(float64(now)), Rules{})
				if now >= phase.from+settle && a.State != phase.word {
					rt.Fatalf("%d s into %s it is %s\n%s", now-phase.from, phase.word, a.State, told(judged))
				}
				if phase.word == waiting && now > phase.from && (a.State == idle || a.State == busy) {
					rt.Fatalf("a question reads as %s\n%s", a.State, told(judged))
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

// drawn is what the screen shows: the truth, a second late.
func drawn(phases []truth, now int) runtime.Evidence {
	i := len(phases) - 1
	if phases[i].from == now && i > 0 {
		i--
	}
	return says(screen, phases[i].word, float64(phases[i].from+1), float64(now))
}

func drawPhases(rt *rapid.T) (phases []truth, end int) {
	for range rapid.IntRange(2, 30).Draw(rt, "phases") {
		word := rapid.SampledFrom([]runtime.Activity{busy, idle, waiting}).Draw(rt, "word")
		if len(phases) > 0 && phases[len(phases)-1].word == word {
			continue
		}
		phases = append(phases, truth{word, end})
		end += rapid.IntRange(3, 40).Draw(rt, "seconds")
	}
	return phases, end
}

func TestAMissedEdgeIsHealedByWhatIsStillSeen(t *testing.T) {
	has := []runtime.Evidence{says(status, busy, 0, 5), says(screen, idle, 1, 5)}
	if a, _, _ := Fuse(sense(has...), at(100), Rules{}); a.State != busy {
		t.Errorf("95 s after the only reading it is %s, want busy: nobody has looked since", a.State)
	}
	s := sense(has...)
	s.Heard(at(1))
	if a, _, _ := Fuse(s, at(100), Rules{}); a.State != idle || a.Confidence != Guess {
		t.Errorf("99 s after the last output it is %+v, want idle as a guess: the screen cannot have changed", a)
	}
}

func TestAHealIsNotUndoneByALittleOutput(t *testing.T) {
	s := sense(says(status, busy, 0, 100), says(screen, idle, 50, 100))
	s.Heard(at(50))
	for now := 101.0; now < 130; now++ {
		s.Heard(at(now))
		if a, judged, _ := Fuse(s, at(now), Rules{}); a.State != idle {
			t.Fatalf("with output after the heal it is %s again\n%s", a.State, told(judged))
		}
	}
	s.Fold(runtime.Reading{Instance: "i", At: at(130), Evidence: []runtime.Evidence{says(status, busy, 130, 130), says(screen, idle, 50, 130)}})
	if a, _, _ := Fuse(s, at(130), Rules{}); a.State != busy || a.Confidence != Certain {
		t.Errorf("after the next edge it is %+v, want busy for certain", a)
	}
}
