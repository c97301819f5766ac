package session

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/runtime"
)

func TestANewIncarnationOwesNothingOfTheFormer(t *testing.T) {
	r := Record{
		Epoch: 4, Token: "secret", Handle: "h", Instance: "public", Warning: "w", Running: true, NextAt: at(9), Renew: at(1),
		Drain: Drain{Epoch: 4, Then: HoldSleep}, Limited: Limit{Since: at(1)}, Hold: Hold{Kind: HoldSleep},
		Failures: []time.Time{at(1)}, Streak: 1, Fault: "f", Conversation: Conversation{ID: "c"}, Agent: "a",
	}
	if epoch := r.Begin(at(10)); epoch != 5 {
		t.Errorf("the incarnation after 4 is %d, want 5", epoch)
	}
	want := Record{
		Epoch: 5, StartedAt: at(10), Hold: Hold{Kind: HoldSleep},
		Failures: []time.Time{at(1)}, Streak: 1, Fault: "f", Conversation: Conversation{ID: "c"}, Agent: "a",
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("the new incarnation's record differs (-want +got):\n%s", diff)
	}
}

func TestADrainEndsInItsHold(t *testing.T) {
	r := Record{Epoch: 2, Running: true, StartedAt: at(0), Drain: Drain{Epoch: 2, Reason: "idle", Then: HoldSleep}, Renew: at(1)}
	exit := &runtime.Exit{}
	if asked := r.Ended(End{At: at(5), Exit: exit, Gone: true}); !asked {
		t.Error("the end of a drained agent counts as unasked for")
	}
	want := Record{Epoch: 2, StartedAt: at(0), Exit: exit, Hold: Hold{Kind: HoldSleep, Reason: "idle", Since: at(5)}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("the record differs (-want +got):\n%s", diff)
	}
}

func TestADrainOfAnotherIncarnationMeansNothing(t *testing.T) {
	r := Record{Epoch: 3, Running: true, StartedAt: at(0), Drain: Drain{Epoch: 2, Then: HoldSleep}}
	if asked := r.Ended(End{At: at(5), Gone: true}); asked || r.Hold.Kind != "" || !r.Lost {
		t.Errorf("asked %v, hold %q, lost %v; want an unasked loss without a hold", asked, r.Hold.Kind, r.Lost)
	}
}

func TestOnlyAStableLifeEndsAStreak(t *testing.T) {
	for lived, want := range map[time.Duration]int{StableLife - 1: 3, StableLife: 0} {
		r := Record{StartedAt: at(0), Streak: 3}
		r.Ended(End{At: at(0).Add(lived)})
		if r.Streak != want {
			t.Errorf("after a life of %v the streak is %d, want %d", lived, r.Streak, want)
		}
	}
}

func TestALimitIsNoFailure(t *testing.T) {
	tests := []struct {
		name    string
		limit   Limit
		resumes time.Time
	}{
		{"with a known end", Limit{Since: at(0), Until: at(600)}, at(600)},
		{"without: it is probed", Limit{Since: at(0)}, at(0).Add(LimitProbe)},
	}
	for _, tt := range tests {
		var r Record
		r.Limit(tt.limit, time.Minute)
		if !r.NextAt.Equal(tt.resumes.Add(time.Minute)) || r.Streak != 0 || len(r.Failures) != 0 {
			t.Errorf("%s: the record is %+v, want a start a minute after %v and no failure", tt.name, r, tt.resumes)
		}
		if r.Limited.Holds(tt.resumes) || !r.Limited.Holds(tt.resumes.Add(-1)) {
			t.Errorf("%s: it does not hold until exactly %v", tt.name, tt.resumes)
		}
	}
	if (Limit{}).Holds(at(0)) {
		t.Error("no limit holds")
	}
}

func TestPausesGrowToACap(t *testing.T) {
	want := []time.Duration{time.Second, time.Second, 3 * time.Second, 9 * time.Second, 27 * time.Second, 81 * time.Second, 243 * time.Second, 5 * time.Minute}
	for streak, pause := range want {
		if got := Backoff(streak, nil); got != pause {
			t.Errorf("the pause after %d failures is %v, want %v", streak, got, pause)
		}
	}
	half := func(d time.Duration) time.Duration { return d / 2 }
	if got := Backoff(1<<40, half); got != 150*time.Second {
		t.Errorf("the pause after very many failures, halved, is %v, want 2m30s", got)
	}
}

// household is a pure controller over one record and one agent that never holds:
// what it decides is only what the record says.
type household struct {
	rec    Record
	now    time.Time
	runs   bool
	dies   time.Time // when the start fails or the agent ends
	starts []time.Time
}

const (
	budget = 5
	window = time.Hour
)

// lifetimes are how such an agent fails: how long after its start, and whether it
// was ready before.
type lifetimes struct {
	ready    bool
	min, max time.Duration
}

var crashers = map[string]lifetimes{
	"exits at once":         {false, 0, 100 * time.Millisecond},
	"a missing binary":      {false, 0, 0},
	"crashes slowly":        {true, 200 * time.Millisecond, 20 * time.Second},
	"hangs before ready":    {false, 60 * time.Second, 60 * time.Second},
	"crashes after a while": {true, 4 * time.Minute, 9 * time.Minute},
}

// step does what is due, and moves on to the next moment at which something is.
func (h *household) step(rt *rapid.T, l lifetimes) {
	switch {
	case h.runs && !h.now.Before(h.dies):
		h.runs = false
		if l.ready {
			h.rec.Ended(End{At: h.now, Exit: &runtime.Exit{Code: 1}})
		}
		h.rec.Fail(h.now, window, "exit 1")
		h.rec.NextAt = h.now.Add(Backoff(h.rec.Streak, nil))
		h.move(TriggerExited)
	case h.runs:
		h.now = h.dies
	case h.now.Before(h.rec.NextAt):
		h.now = h.rec.NextAt
	default:
		if until, ok := h.rec.Quarantine(h.now, budget, window); ok {
			h.move(TriggerQuarantine)
			h.now = until
			return
		}
		h.move(TriggerRelease)
		h.rec.Begin(h.now)
		h.move(TriggerBegin)
		h.runs, h.starts = true, append(h.starts, h.now)
		h.dies = h.now.Add(time.Duration(rapid.Int64Range(int64(l.min), int64(l.max)).Draw(rt, "lives")))
		if l.ready {
			h.rec.Running = true
			h.move(TriggerReady)
		}
	}
}

func (h *household) move(t Trigger) { _ = h.rec.Move(t, h.now) } // what is not expected is logged, and nothing else

// restart ends the controller and begins another one, which has the record alone.
// An agent that does not survive the controller is gone when it looks.
func (h *household) restart(rt *rapid.T, survives bool) {
	text, err := json.Marshal(h.rec)
	if err != nil {
		rt.Fatal(err)
	}
	h.rec = Record{}
	if err := json.Unmarshal(text, &h.rec); err != nil {
		rt.Fatal(err)
	}
	facts := itIsGone
	if h.runs && survives {
		facts = itRuns
	}
	was := h.rec.Running
	h.rec.Repair(facts, h.now, window)
	switch {
	case facts == itRuns:
		h.rec.Running = true
	case h.runs && was:
		h.rec.Ended(End{At: h.now, Gone: true})
		h.rec.Fail(h.now, window, "lost")
	}
	if facts == itIsGone {
		h.runs = false
	}
}

func TestAnHourOfCrashesStaysWithinTheBudget(t *testing.T) {
	for name, l := range crashers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				h := household{now: noon, rec: Record{State: StateStopped}}
				restarts := rapid.SliceOfN(rapid.IntRange(0, 12), 5, 5).Draw(rt, "restart after steps")
				for end := noon.Add(3 * time.Hour); h.now.Before(end); {
					h.step(rt, l)
					if len(restarts) > 0 {
						if restarts[0]--; restarts[0] < 0 {
							restarts = restarts[1:]
							h.restart(rt, rapid.Bool().Draw(rt, "survives"))
						}
					}
				}
				checkBudget(rt, h.starts)
			})
		})
	}
}

// checkBudget wants no more starts than the budget in the first hour, and one more
// in any hour: the start whose failure falls into it may lie before.
func checkBudget(rt *rapid.T, starts []time.Time) {
	for i, from := range starts {
		n := 0
		for _, s := range starts[i:] {
			if s.Sub(from) < window {
				n++
			}
		}
		if n > budget+1 || i == 0 && n > budget {
			rt.Fatalf("%d starts within the hour from %v, want at most %d", n, from.Sub(noon), budget)
		}
	}
	if len(starts) == 0 {
		rt.Fatal("it was never started")
	}
}

func TestAStartThatWasCutOffCountsOnce(t *testing.T) {
	r := Record{State: StateStopped}
	r.Begin(at(0))
	if err := r.Move(TriggerBegin, at(0)); err != nil {
		t.Fatal(err)
	}
	if reason := r.Repair(itIsGone, at(5), window); reason == "" || r.State != StateFailed || len(r.Failures) != 1 || !r.StateSince.Equal(at(5)) {
		t.Errorf("after a start that was cut off the record is %+v (%q), want one failure", r, reason)
	}
	if reason := r.Repair(itIsGone, at(6), window); reason != "" || len(r.Failures) != 1 {
		t.Errorf("looked at again it holds %d failures (%q), want the one", len(r.Failures), reason)
	}
}
