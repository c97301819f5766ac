package session

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const patrol = 30 * time.Second

// ticking returns a clock that has ticked, and the moment of it.
func ticking() (*Clock, Instant) {
	var c Clock
	first := Instant{Wall: noon, Mono: time.Hour}
	c.Tick(first, patrol)
	return &c, first
}

func TestWhatAPairOfTicksTells(t *testing.T) {
	tests := []struct {
		name       string
		wall, mono time.Duration
		want       Jump
	}{
		{"nothing happens", patrol, patrol, Jump{}},
		{"an event wakes the loop early", time.Millisecond, time.Millisecond, Jump{}},
		{"the host is busy", patrol + 4*time.Second, patrol + 4*time.Second, Jump{}},
		{"the host sleeps, and its clock is kept by the wall alone", 8*time.Hour + patrol, patrol, Jump{Stood: 8 * time.Hour, from: noon}},
		{"the host sleeps just after a tick", 8*time.Hour + time.Second, time.Second, Jump{Stood: 8 * time.Hour, from: noon}},
		{"the process is halted", 8*time.Hour + patrol, 8*time.Hour + patrol, Jump{Stood: 8 * time.Hour, from: noon}},
		{"it is halted and the host sleeps", 3*time.Hour + patrol, time.Hour + patrol, Jump{Stood: 3 * time.Hour, from: noon}},
		{"the clock is set back", patrol - 8*time.Hour, patrol, Jump{Back: 8 * time.Hour, from: noon}},
		{"the clock is set forward", patrol + time.Hour, patrol, Jump{Stood: time.Hour, from: noon}},
		{"the clock is set right by a little", patrol - 2*time.Second, patrol, Jump{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, first := ticking()
			got := c.Tick(Instant{first.Wall.Add(tt.wall), first.Mono + tt.mono}, patrol)
			if got != tt.want || got.Happened() != (tt.want != Jump{}) {
				t.Errorf("the tick tells %+v, want %+v", got, tt.want)
			}
			again := c.Tick(Instant{first.Wall.Add(tt.wall + patrol), first.Mono + tt.mono + patrol}, patrol)
			if again.Happened() {
				t.Errorf("the next tick tells %+v again", again)
			}
		})
	}
}

// TestNoDeadlineComesNearerByAJump: whatever the clocks do, as much is left of a
// deadline as an undisturbed loop would see, and what passed is as long ago.
func TestNoDeadlineComesNearerByAJump(t *testing.T) {
	seconds := func(rt *rapid.T, label string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(rt, label)) * time.Second
	}
	rapid.Check(t, func(rt *rapid.T) {
		c, first := ticking()
		passes := seconds(rt, "the loop runs", 30)
		halted := seconds(rt, "halted", 86400)
		slept := seconds(rt, "slept", 86400)
		set := time.Duration(rapid.IntRange(-86400, 0).Draw(rt, "set back")) * time.Second
		if slept > 0 {
			set = 0 // one tick cannot tell the two apart
		}
		now := Instant{first.Wall.Add(passes + halted + slept + set), first.Mono + passes + halted}
		j := c.Tick(now, passes)
		left := seconds(rt, "left", 86400)
		got := j.Deadline(first.Wall.Add(left + 1)).Sub(now.Wall)
		if want := left - passes; got < want-2*defaultTolerance || got > want+2*defaultTolerance {
			rt.Fatalf("%v are left of what should have %v: %+v", got, want, j)
		}
		passed := first.Wall.Add(-left)
		if got, want := now.Wall.Sub(j.Past(passed)), left+passes+halted+slept; got < want-defaultTolerance || got > want+defaultTolerance {
			rt.Fatalf("what was %v ago is %v ago: %+v", want, got, j)
		}
	})
}

func TestADueDeadlineStaysDueAndNoneStaysNone(t *testing.T) {
	j := Jump{Stood: time.Hour, from: noon}
	if got := j.Deadline(noon); !got.Equal(noon) {
		t.Errorf("a deadline that was due moved by %v", got.Sub(noon))
	}
	if got := j.Deadline(time.Time{}); !got.IsZero() {
		t.Errorf("no deadline became %v", got)
	}
	if got := (Jump{Back: time.Hour, from: noon}).Past(time.Time{}); !got.IsZero() {
		t.Errorf("what never happened happened at %v", got)
	}
}

func TestARecordKeepsItsDistances(t *testing.T) {
	former := []time.Time{at(-60)}
	r := Record{NextAt: at(60), Drain: Drain{Deadline: at(30)}, StartedAt: at(-90), Failures: former}
	r.Shift(Jump{Back: time.Hour, Stood: time.Minute, from: noon})
	back := noon.Add(-time.Hour)
	want := Record{
		NextAt: back.Add(2 * time.Minute), Drain: Drain{Deadline: back.Add(90 * time.Second)},
		StartedAt: back.Add(-90 * time.Second), Failures: []time.Time{back.Add(-time.Minute)},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("the shifted record differs (-want +got):\n%s", diff)
	}
	if !former[0].Equal(at(-60)) {
		t.Error("the shift changed a list that others may hold")
	}
	r = Record{NextAt: at(60), Limited: Limit{Since: at(0), Until: at(60)}}
	r.Shift(Jump{Stood: time.Hour, from: noon})
	if !r.NextAt.Equal(at(60)) {
		t.Errorf("the end of a limit, which the vendor names, moved by %v", r.NextAt.Sub(at(60)))
	}
}
