package screen

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

// A question has another name in another instance, and once it was answered. The answer to
// another one does not change its name.
func TestBind(t *testing.T) {
	life := Life{Name: "life"}
	q := life.Bind("q")
	if q != life.Bind("q") || q == life.Bind("r") || q == (Life{Name: "other"}).Bind("q") {
		t.Error("the name is not one of the instance and the words")
	}
	after := life.Add("r").Add("s")
	if after.Bind("q") != q || after.Answered != 2 || after.String() == life.String() {
		t.Errorf("after the answers to others it has another name, after %d answers", after.Answered)
	}
	names := map[string]bool{q: true}
	for range 3 {
		after = after.Add("q")
		again := after.Bind("q")
		for range maxLast - 1 {
			after = after.Add("r")
			if after.Bind("q") != again {
				t.Fatal("an answer to another question changed its name")
			}
		}
		if names[again] {
			t.Error("a question that comes again in the same words has a name that was used")
		}
		names[again] = true
	}
	if len(after.Last) != maxLast {
		t.Errorf("%d answered questions are remembered, want %d", len(after.Last), maxLast)
	}
	if (Life{Name: "life", Answered: 1}).Bind("q") == (Life{Name: "life", Answered: 2}).Bind("q") {
		t.Error("where it is not known what was answered, an answer does not change the name")
	}
}
