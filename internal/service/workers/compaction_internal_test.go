package workers

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/internal/domain/plan"
)

// TestOneCompactionAtATime: a compaction starts only if none runs and the agent is idle, supports it
// and is not stopping. It holds the lock no longer than the limit, the next one is not too early, and there is
// one warning for one rise.
func TestOneCompactionAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := plan.ContextPolicy{WarnAt: 0.7, CompactAt: 0.9, HandoffAt: 0.95, Within: time.Minute}
		var l compactionState
		now := time.Unix(1e9, 0)
		var last time.Time
		warned := false
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * time.Second)
			s := compactionInput{
				Idle: rapid.Bool().Draw(t, "idle"), Offers: rapid.Bool().Draw(t, "offers"), Ends: rapid.Bool().Draw(t, "ends"), Done: rapid.Bool().Draw(t, "done"),
			}
			if rapid.Bool().Draw(t, "known") {
				usage := rapid.Float64Range(0, 1).Draw(t, "usage")
				s.Usage = &usage
			}
			before := l
			next, act, at := l.Next(rules, s, now)
			l = next
			switch act {
			case actCompact:
				if before.IsActive() || !s.Idle || !s.Offers || s.Ends || *s.Usage < 0.9 || !last.IsZero() && now.Sub(last) < 10*time.Minute {
					t.Fatalf("a compaction is begun at %s after %s on %+v", now, last, s)
				}
				last = now
			case actHandOff:
				compacts := s.Offers && (last.IsZero() || now.Sub(last) >= 10*time.Minute)
				if before.IsActive() || !s.Idle || s.Ends || *s.Usage < 0.95 || compacts || !l.Leaves {
					t.Fatalf("a hand-over is begun at %s after %s on %+v", now, last, s)
				}
			case actWarn:
				if warned || *s.Usage < 0.7 {
					t.Fatalf("warned on %+v", s)
				}
				warned = true
			case actFinished, actOverdue:
				if !before.IsActive() || l.IsActive() {
					t.Fatalf("%s of %+v leaves %+v", act, before, l)
				}
			case actNothing:
			}
			if s.Usage != nil && *s.Usage < 0.7 && !before.IsActive() {
				warned = false
			}
			if l.IsActive() && (now.Sub(l.Since) >= time.Minute || at.Sub(l.Since) != time.Minute) {
				t.Fatalf("the lock is held since %s at %s, looked at again at %s", l.Since, now, at)
			}
		}
	})
}

// TestClockSetBackDelaysNoCompaction: a compaction that started in the future ends as if it had started
// now, and the next one waits as long as usual.
func TestClockSetBackDelaysNoCompaction(t *testing.T) {
	rules := plan.ContextPolicy{CompactAt: 0.9, Within: time.Minute}
	full := 0.95
	s := compactionInput{Idle: true, Offers: true, Usage: &full}
	now := time.Unix(1e9, 0)
	l, act, _ := compactionState{}.Next(rules, s, now)
	if act != actCompact {
		t.Fatalf("a full context is %q", act)
	}
	now = now.Add(-24 * time.Hour)
	l, act, again := l.Next(rules, s, now)
	if act != actNothing || !again.Equal(now.Add(time.Minute)) {
		t.Errorf("it is looked at again at %s, want in a minute of %s", again, now)
	}
	l, act, _ = l.Next(rules, s, now.Add(time.Minute))
	if act != actOverdue {
		t.Errorf("after a minute it is %q", act)
	}
	if _, act, _ = l.Next(rules, s, now.Add(11*time.Minute)); act != actCompact {
		t.Errorf("after ten minutes it is %q, want another compaction", act)
	}
}
