package console

import (
	"testing"
	"time"

	"gascity/runtime"
)

// A screen that says the same to the same life keeps its age, and a limit its end.
func TestMemory(t *testing.T) {
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	limited := runtime.Evidence{Source: runtime.SourceScreen, Activity: runtime.ActivityLimited, Detail: "resets in 5m"}
	tests := map[string]struct {
		life         string
		change       func(*runtime.Evidence)
		since, until bool // are kept
	}{
		"the same":       {"life", func(*runtime.Evidence) {}, true, true},
		"other words":    {"life", func(e *runtime.Evidence) { e.Detail = "resets in 4m" }, true, false},
		"another life":   {"other", func(*runtime.Evidence) {}, false, false},
		"other activity": {"life", func(e *runtime.Evidence) { e.Activity = runtime.ActivityIdle }, false, false},
		"other kind":     {"life", func(e *runtime.Evidence) { e.Kind = runtime.WaitMenu }, false, false},
		"another source": {"life", func(e *runtime.Evidence) { e.Source = runtime.SourceStatus }, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var m Memory
			at := func(when time.Time) runtime.Evidence {
				e := limited
				e.Since, e.Until = when, when.Add(5*time.Minute)
				return e
			}
			m.Recall("s", "life", []runtime.Evidence{at(began)})
			now := []runtime.Evidence{at(began.Add(time.Minute))}
			test.change(&now[0])
			m.Recall("s", test.life, now)
			if kept := now[0].Since.Equal(began); kept != test.since {
				t.Errorf("since %s, kept: %v, want %v", now[0].Since, kept, test.since)
			}
			if kept := now[0].Until.Equal(began.Add(5 * time.Minute)); kept != test.until {
				t.Errorf("until %s, kept: %v, want %v", now[0].Until, kept, test.until)
			}
			m.Forget("s")
			again := []runtime.Evidence{at(began.Add(time.Hour))}
			if m.Recall("s", test.life, again); !again[0].Since.Equal(began.Add(time.Hour)) {
				t.Errorf("a session that ended is remembered since %s", again[0].Since)
			}
		})
	}
}

func TestBind(t *testing.T) {
	if a, b := Bind("life 0", "q"), Bind("life 1", "q"); a == b || a != Bind("life 0", "q") || a == Bind("life 0", "r") {
		t.Errorf("%s and %s", a, b)
	}
}
