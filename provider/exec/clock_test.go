package exec_test

import (
	"fmt"
	"testing"
	"time"

	"gascity/provider/exec"
	"gascity/runtime"
)

// An observation has the time of its call by the clock of this machine, for any clock of the script.
func TestObservationsUseTheLocalClock(t *testing.T) {
	for name, test := range map[string]struct {
		off   time.Duration
		whole bool // it prints whole seconds
	}{
		"exact": {}, "whole seconds": {whole: true}, "ahead": {off: time.Hour}, "behind": {off: -time.Hour, whole: true},
		"by little": {off: 5 * time.Second, whole: true},
	} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/all=%v", name, all), func(t *testing.T) {
				pl := newScriptFixture(t, `case "$op" in
protocol) echo '{"version": 0, "capabilities": ["observe"]}' ;;
observe) cat "$D/seen" ;;
observe-all) cat "$D/seen" ;;
*) exit 2 ;;
esac
`)
				p := pl.open(func(c *exec.Config) {
					if c.Fresh = -1; all {
						c.Fresh = time.Minute
					}
				})
				before := time.Now()
				theirs := before.Add(test.off)
				layout := time.RFC3339Nano
				if test.whole {
					layout = time.RFC3339
				}
				pl.write("seen", fmt.Sprintf(`{"name": "a", "session": "alive", "agent": "alive", "started_at": %q, "last_activity": %q, "exit": {"code": 1, "at": %q}, "at": %q}`+"\n",
					theirs.Add(-time.Hour).Format(layout), theirs.Add(-time.Minute).Format(layout), theirs.Add(-time.Second).Format(layout), theirs.Format(layout)))
				obs, err := p.Observe(t.Context(), "a")
				after := time.Now()
				if err != nil || obs.Session != runtime.Alive || obs.Exit == nil {
					t.Fatalf("Observe = %+v, %v", obs, err)
				}
				if obs.At.Before(before) || obs.At.After(after) {
					t.Errorf("looked at %v, want it between %v and %v", obs.At, before, after)
				}
				// The rounding of the clock and the duration of the call are unknown.
				spread := time.Second + after.Sub(before)
				for what, got := range map[string]struct{ is, want time.Time }{
					"started": {obs.StartedAt, before.Add(-time.Hour)}, "active": {obs.LastActivity, before.Add(-time.Minute)}, "ended": {obs.Exit.At, before.Add(-time.Second)},
				} {
					if d := got.is.Sub(got.want).Abs(); d > spread {
						t.Errorf("%s at %v, want %v, it is %v off", what, got.is, got.want, d)
					}
				}
			})
		}
	}
}

// A time that was not reported stays zero.
func TestUnknownTimesStayUnknown(t *testing.T) {
	pl := newScriptFixture(t, `case "$op" in
protocol) echo '{"version": 0, "capabilities": ["observe"]}' ;;
observe) echo '{"session": "alive", "agent": "alive", "at": "2001-01-01T00:00:00Z"}' ;;
*) exit 2 ;;
esac
`)
	p := pl.open()
	obs, err := p.Observe(t.Context(), "a")
	if err != nil || !obs.StartedAt.IsZero() || !obs.LastActivity.IsZero() || !obs.LastInput.IsZero() {
		t.Errorf("Observe = %+v, %v, want the times that were not reported unknown", obs, err)
	}
}

// A time that does not change on a host with a wrong clock does not change here.
func TestUnchangedTimesStayUnchanged(t *testing.T) {
	pl := newScriptFixture(t, `case "$op" in
protocol) echo '{"version": 0, "capabilities": ["observe"]}' ;;
observe) echo "{\"session\": \"alive\", \"agent\": \"alive\", \"last_activity\": \"2001-01-01T00:00:00Z\", \"at\": \"$(date -u +19%y-%m-%dT%H:%M:%SZ)\"}" ;;
*) exit 2 ;;
esac
`)
	p := pl.open(func(c *exec.Config) { c.Fresh = -1 })
	var seen []time.Time
	for range 8 {
		obs, err := p.Observe(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, obs.LastActivity)
		<-time.After(150 * time.Millisecond)
	}
	moved := 0
	for i := range seen[1:] {
		if d := seen[i+1].Sub(seen[i]); d > time.Second {
			t.Errorf("look %d moved the activity by %v", i, d)
		} else if d != 0 {
			moved++
		}
	}
	if moved == len(seen)-1 {
		t.Errorf("the activity moved at every look: %v", seen)
	}
}
