package session

import (
	"encoding/json"
	"testing"
	"time"

	"gascity/runtime"
)

// TestAnObstacleOfAnySourceIsConcluded checks which obstacle an activity has: one of any source
// that fits the activity. An error of an earlier turn does not explain the current turn, and a code
// is replaced by a text of another source.
func TestAnObstacleOfAnySourceIsConcluded(t *testing.T) {
	ev := func(s runtime.Source, a runtime.Activity, o runtime.Obstacle) runtime.Evidence {
		return runtime.Evidence{Source: s, Activity: a, Obstacle: o}
	}
	retrying := runtime.Obstacle{Kind: runtime.ObstacleRetrying, Attempt: 3, Of: 10, Detail: "429 slow down"}
	failed := runtime.Obstacle{Kind: runtime.ObstacleError, Detail: "server_error"}
	words := runtime.Obstacle{Kind: runtime.ObstacleError, Detail: "API Error: 500 it broke"}
	login := runtime.Obstacle{Kind: runtime.ObstacleLogin, Detail: "authentication_failed"}
	for name, c := range map[string]struct {
		says []runtime.Evidence
		want runtime.Obstacle
	}{
		"the screen knows of a retry in a turn that the status reports": {
			[]runtime.Evidence{ev(runtime.SourceStatus, runtime.ActivityBusy, runtime.Obstacle{}), ev(runtime.SourceScreen, runtime.ActivityBusy, retrying)}, retrying,
		},
		"an old error above a turn in progress": {
			[]runtime.Evidence{ev(runtime.SourceStatus, runtime.ActivityBusy, runtime.Obstacle{}), ev(runtime.SourceScreen, runtime.ActivityIdle, words)}, runtime.Obstacle{},
		},
		"words instead of a code": {
			[]runtime.Evidence{ev(runtime.SourceHook, runtime.ActivityIdle, failed), ev(runtime.SourceScreen, runtime.ActivityReady, words)}, words,
		},
		"a login instead of an error without words": {
			[]runtime.Evidence{ev(runtime.SourceStatus, runtime.ActivityIdle, runtime.Obstacle{Kind: runtime.ObstacleError}), ev(runtime.SourceHook, runtime.ActivityIdle, login)}, login,
		},
		"a limit that is only an activity": {
			[]runtime.Evidence{{Source: runtime.SourceScreen, Activity: runtime.ActivityLimited, Detail: "5-hour limit", Until: at(900)}},
			runtime.Obstacle{Kind: runtime.ObstacleLimit, Detail: "5-hour limit", ResetAt: at(900)},
		},
		"nothing": {[]runtime.Evidence{ev(runtime.SourceStatus, runtime.ActivityBusy, runtime.Obstacle{})}, runtime.Obstacle{}},
	} {
		var s EvidenceSet
		s.Fold(runtime.Reading{At: at(0), Evidence: c.says})
		if a, _, _ := Fuse(&s, at(1), Rules{}); a.Obstacle.Obstacle != c.want {
			t.Errorf("%s: concluded %+v, want %+v", name, a.Obstacle.Obstacle, c.want)
		}
	}
}

// TestPausesBetweenProbesGrow checks the pauses between tries during an obstacle: 1, 2, 5, 10 and
// then always 30 minutes. If the end of a limit is known, the next try is at that time. An obstacle
// that holds no prompts back has no next try.
func TestPausesBetweenProbesGrow(t *testing.T) {
	o := Obstacle{Obstacle: runtime.Obstacle{Kind: runtime.ObstacleLogin}}
	for i, want := range []time.Duration{1, 2, 5, 10, 30, 30, 30} {
		o.Probes = i
		if o.Schedule(at(0)); o.ProbeAt.Sub(at(0)) != want*time.Minute {
			t.Errorf("after %d probes the next is in %v, want %v", i, o.ProbeAt.Sub(at(0)), want*time.Minute)
		}
	}
	o.Kind, o.ResetAt = runtime.ObstacleLimit, at(7200)
	if o.Schedule(at(0)); !o.ProbeAt.Equal(at(7200)) {
		t.Errorf("a limit until %v is tried at %v", o.ResetAt, o.ProbeAt)
	}
	o.Kind = runtime.ObstacleRetrying
	if o.Schedule(at(0)); !o.ProbeAt.IsZero() {
		t.Errorf("prompts wait until %v because the agent repeats a request", o.ProbeAt)
	}
}

// TestARecordWithALimitOfBeforeIsRead checks that a record of an earlier gc, which has a limit
// instead of an obstacle, is read, and that an obstacle is the same after it was stored.
func TestARecordWithALimitOfBeforeIsRead(t *testing.T) {
	var r Record
	old := `{"session":"s","provider":"pty","epoch":3,"limited":{"since":"2026-03-01T12:00:00Z","until":"2026-03-01T15:00:00Z","source":"screen","detail":"5-hour limit"}}`
	if err := json.Unmarshal([]byte(old), &r); err != nil {
		t.Fatal(err)
	}
	until := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	if o := r.Obstacle; r.Session != "s" || r.Epoch != 3 || o.Kind != runtime.ObstacleLimit || !o.ResetAt.Equal(until) || !o.ProbeAt.Equal(until) || o.Detail != "5-hour limit" {
		t.Fatalf("the record is read as %+v", r)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Record
	if err := json.Unmarshal(text, &again); err != nil || again.Obstacle != r.Obstacle {
		t.Errorf("stored and read again it is %+v (%v), want %+v", again.Obstacle, err, r.Obstacle)
	}
}
