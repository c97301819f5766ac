package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

func TestScreenOfAnAgentBecomesItsActivity(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.advance(time.Second)
		for _, word := range []runtime.Activity{runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityWaiting, runtime.ActivityBusy} {
			w.provider.setActivity("gc-town-a", word)
			w.advance(300 * time.Millisecond)
			if got := w.agent("a").Activity; got.State != string(word) || got.Source != "screen" || got.Confidence != "guess" {
				t.Errorf("drawn as %s it is shown as %+v", word, got)
			}
		}
		w.provider.setActivity("gc-town-a", "")
		w.advance(300 * time.Millisecond)
		if got := w.agent("a").Activity.State; got != "unknown" {
			t.Errorf("an agent that draws nothing known is shown as %s, want unknown", got)
		}
		w.advance(time.Second)
		var reported []string
		events, _, _ := w.log.After(t.Context(), 0)
		for _, e := range events {
			if e.Kind == "session.activity" {
				reported = append(reported, e.Data["activity"])
			}
		}
		if want := []string{"busy", "idle", "waiting", "busy", "unknown"}; !slices.Equal(reported[len(reported)-5:], want) {
			t.Errorf("reported %v, want the last to be %v", reported, want)
		}
	})
}

// TestActivityIsReadAfterAnUnknownState: output during an unknown state is read when the state is
// known, even without further output.
func TestActivityIsReadAfterAnUnknownState(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(time.Second)
		w.provider.set(func(f *testProvider) {
			f.blind["gc-town-a"] = true
			f.emit(runtime.Event{Kind: runtime.EventExited, Session: "gc-town-a"})
		})
		w.advance(time.Second)
		w.want("a", client.StateUnknown)
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Second)
		w.provider.set(func(f *testProvider) { clear(f.blind) })
		w.advance(2 * time.Minute)
		w.want("a", client.StateRunning)
		if got := w.agent("a").Activity.State; got != string(runtime.ActivityBusy) {
			t.Errorf("after the unknown state the agent is shown as %s, want busy", got)
		}
	})
}

// TestActivityOfAnotherInstanceIsRead: an instance that was started without the controller while the
// provider failed is read, even without further output.
func TestActivityOfAnotherInstanceIsRead(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(time.Second)
		w.provider.set(func(f *testProvider) {
			f.down = errDown
			f.sessions["gc-town-a"].token = "of-somebody"
			f.emit(runtime.Event{Kind: runtime.EventStarted, Session: "gc-town-a"})
		})
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Second)
		w.provider.set(func(f *testProvider) { f.down = nil })
		w.advance(2 * time.Minute)
		w.want("a", client.StateRunning)
		if got := w.agent("a").Activity.State; got != string(runtime.ActivityBusy) {
			t.Errorf("the successor is shown as %s, want busy", got)
		}
	})
}

func TestSensingIsBoundedAndEndsWithTheOutput(t *testing.T) {
	inTestCity(t, names(40), func(t *testing.T, w *testCity) {
		var mu sync.Mutex
		under, most := 0, 0
		w.provider.readings = map[string]runtime.Reading{}
		w.provider.onSense = func(ctx context.Context, _ string) error {
			mu.Lock()
			under++
			most = max(most, under)
			mu.Unlock()
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
			}
			mu.Lock()
			under--
			mu.Unlock()
			return nil
		}
		w.start()
		w.advance(time.Minute)
		before := w.provider.number("sense")
		for i := range 100 { // 10 s of output, ten times a second
			w.provider.setActivity("gc-town-a000", runtime.ActivityBusy, func(r *runtime.Reading) { r.Evidence[0].Detail = fmt.Sprint(i) })
			for _, name := range names(40)[1:] {
				w.provider.works("gc-town-" + name)
			}
			w.advance(100 * time.Millisecond)
		}
		w.advance(time.Second)
		if got := (w.provider.number("sense") - before) / 40; got < 20 || got > 44 {
			t.Errorf("%d readings of each session in 10 s of output, want about 40", got)
		}
		if most > sensesAtime {
			t.Errorf("%d readings at a time, want at most %d", most, sensesAtime)
		}
		events, _, _ := w.log.After(t.Context(), 0)
		if n := len(slices.DeleteFunc(events, func(e client.Event) bool { return e.Kind != "session.activity" || e.Session != "gc-town-a000" })); n > 2 {
			t.Errorf("%d changes reported of an agent that was busy all the time", n)
		}
		w.provider.setActivity("gc-town-a000", runtime.ActivityIdle) // the last change
		w.advance(time.Second)
		if got := w.agent("a000").Activity.State; got != "idle" {
			t.Errorf("after the last output it is shown as %s", got)
		}
		rest, writes := w.provider.number("sense"), w.records.writes.Load()
		w.advance(time.Hour)
		if w.provider.number("sense") != rest || w.records.writes.Load() != writes {
			t.Errorf("%d readings and %d writes of an idle fleet in an hour", w.provider.number("sense")-rest, w.records.writes.Load()-writes)
		}
	})
}

func TestHangingReadingDelaysOnlyItsSession(t *testing.T) {
	inTestCity(t, []string{"hung", "fine"}, func(t *testing.T, w *testCity) {
		release := make(chan struct{})
		w.provider.readings = map[string]runtime.Reading{}
		w.provider.onSense = func(_ context.Context, name string) error {
			if name == "gc-town-hung" {
				<-release
			}
			return nil
		}
		w.start()
		w.provider.setActivity("gc-town-fine", runtime.ActivityIdle)
		w.advance(time.Second)
		if got := w.agent("fine").Activity.State; got != "idle" {
			t.Errorf("beside a hung reading the activity is %s", got)
		}
		w.provider.setActivity("gc-town-hung", runtime.ActivityBusy)
		close(release)
		w.advance(2 * time.Second)
		if got := w.agent("hung").Activity.State; got != "busy" {
			t.Errorf("after the hang the activity is %s", got)
		}
	})
}

// TestTypingMakesNoEvents has a person type: with each key the activity is unknown and ready
// again. That makes no events, and the status shows each state at once. A question and a turn are events at
// once, and so is an activity that stays unknown.
func TestTypingMakesNoEvents(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityReady)
		w.advance(3 * time.Second)
		before := len(w.activities())
		for range 8 {
			for _, word := range []runtime.Activity{"", runtime.ActivityReady} {
				w.provider.setActivity("gc-town-a", word)
				w.advance(400 * time.Millisecond)
				if got := w.agent("a").Activity.State; got != string(word) && word != "" || word == "" && got != "unknown" {
					t.Errorf("drawn as %q it is shown as %s", word, got)
				}
			}
		}
		if reported := w.activities()[before:]; len(reported) != 0 {
			t.Errorf("typing made the events %v", reported)
		}
		for _, word := range []runtime.Activity{"", runtime.ActivityWaiting, "", runtime.ActivityBusy, "", runtime.ActivityIdle} {
			w.provider.setActivity("gc-town-a", word)
			w.advance(400 * time.Millisecond)
		}
		w.provider.setActivity("gc-town-a", "")
		w.advance(2 * time.Second)
		if reported, want := w.activities()[before:], []string{"waiting", "busy", "idle", "unknown"}; !slices.Equal(reported, want) {
			t.Errorf("then the events were %v, want %v", reported, want)
		}
		w.advance(time.Hour)
		if reported := w.activities()[before:]; len(reported) != 4 {
			t.Errorf("an hour later they are %v", reported)
		}
	})
}

// TestReadingOfAPreviousInstanceIsDropped replaces the agent while it is read.
func TestReadingOfAPreviousInstanceIsDropped(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.advance(time.Second)
		hold := make(chan struct{})
		w.provider.set(func(f *testProvider) {
			f.onSense = func(context.Context, string) error { <-hold; return nil }
		})
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		synctest.Wait()
		w.provider.set(func(f *testProvider) { f.onSense = nil })
		w.provider.end("gc-town-a", 1)
		w.advance(2 * time.Second)
		w.provider.setActivity("gc-town-a", "")
		w.advance(time.Second)
		close(hold)
		synctest.Wait()
		if slices.Contains(w.activities(), "busy") {
			t.Errorf("the previous instance's reading was reported: %v", w.activities())
		}
		if got := w.agent("a"); got.State != client.StateRunning || got.Activity.State != "unknown" {
			t.Errorf("the successor is %s and %s, want running and unknown", got.State, got.Activity.State)
		}
	})
}

// activities returns the reported activities, in order.
func (w *testCity) activities() []string {
	var reported []string
	events, _, _ := w.log.After(w.t.Context(), 0)
	for _, e := range events {
		if e.Kind == "session.activity" {
			reported = append(reported, e.Data["activity"])
		}
	}
	return reported
}

func TestReadingIsRepeatedAtItsTime(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy, func(r *runtime.Reading) { r.Again = time.Now().Add(40 * time.Second) })
		w.advance(time.Second)
		w.provider.set(func(f *testProvider) { // without output
			f.readings["gc-town-a"] = runtime.Reading{Evidence: []runtime.Evidence{{Source: runtime.SourceScreen, Activity: runtime.ActivityIdle}}}
		})
		w.advance(38 * time.Second)
		early := w.agent("a").Activity.State
		w.advance(2 * time.Second)
		if late := w.agent("a").Activity.State; early != "busy" || late != "idle" {
			t.Errorf("before it was due the activity was %s, after that %s; want busy and idle", early, late)
		}
	})
}

func TestSnapshotsHaveWhatEnginesNeed(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		var mu sync.Mutex
		reported := map[string]int{}
		w.change = func(o *Options) {
			o.Changed = func(name string) {
				mu.Lock()
				defer mu.Unlock()
				reported[name]++
			}
		}
		looks := func() int { mu.Lock(); defer mu.Unlock(); return reported["gc-town-a"] }
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.advance(time.Second)
		v, err := w.c.Snapshot("a")
		if err != nil || !v.Running || !v.Ready || v.Token != w.provider.lives()["gc-town-a"] || v.Epoch != 1 || v.Provider == nil || v.Unknown != "" {
			t.Errorf("the view is %+v, %v", v, err)
		}
		if len(w.c.Snapshots()) != 2 {
			t.Errorf("%d views, want 2", len(w.c.Snapshots()))
		}
		if _, err := w.c.Snapshot("nobody"); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("the view of an unknown agent: %v", err)
		}
		for what, change := range map[string]func(){
			"activity": func() { w.provider.setActivity("gc-town-a", runtime.ActivityBusy) },
			"question": func() {
				w.provider.setActivity("gc-town-a", runtime.ActivityBusy, func(r *runtime.Reading) {
					r.Pending = &runtime.PendingInteraction{RequestID: "q1", Kind: "permission", Prompt: "Allow?"}
				})
			},
			"attached": func() {
				w.provider.set(func(f *testProvider) {
					f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a", Attached: 1})
				})
			},
			"drain": func() { mustDo(t, w.c.Drain, client.LifecycleRequest{}) },
		} {
			before := looks()
			change()
			w.advance(time.Second)
			if looks() == before {
				t.Errorf("the new %s was not reported", what)
			}
		}
		if v, _ := w.c.Snapshot("a"); v.Pending == nil && v.Activity.State != runtime.ActivityBusy || !v.Draining || v.Attached != 1 {
			t.Errorf("the view is %+v", v)
		}
		before := looks()
		w.advance(time.Minute)
		if looks() != before {
			t.Error("reported although nothing changed")
		}
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[1:] })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.c.Apply(t.Context(), client.ApplyRequest{}); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		if _, err := w.c.Snapshot("a"); err == nil || looks() == before {
			t.Errorf("a session that is gone has a view (%v), reported %d times", err, looks()-before)
		}
	})
}

// mustDo sends a request for agent a, which must succeed.
func mustDo(t *testing.T, verb func(context.Context, string, client.LifecycleRequest) (client.Done, error), req client.LifecycleRequest) client.Done {
	t.Helper()
	done, err := verb(t.Context(), "a", req)
	if err != nil || !done.Changed {
		t.Errorf("the order says %+v, %v", done, err)
	}
	return done
}

// TestUsageLimitIsNoFailure has an agent that exits because of a usage limit.
func TestUsageLimitIsNoFailure(t *testing.T) {
	for name, known := range map[string]bool{"with an end": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
				w.settings = config.Daemon{MaxRestarts: 1, RestartWindow: time.Hour}
				w.provider.readings = map[string]runtime.Reading{}
				w.start()
				until := time.Now().Add(3 * time.Hour)
				w.provider.setActivity("gc-town-a", runtime.ActivityLimited, func(r *runtime.Reading) {
					if known {
						r.Evidence[0].Until = until
					}
					r.Evidence[0].Detail = "5-hour limit reached"
				})
				w.advance(time.Second)
				w.provider.end("gc-town-a", 1)
				w.advance(10 * time.Minute)
				if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 0 || r.Obstacle.Kind != runtime.ObstacleLimit || !known && !r.Obstacle.ResetAt.IsZero() {
					t.Errorf("the store holds %+v, want a limit and no failure", r)
				}
				w.stop() // a later controller keeps the limit
				w.provider.set(func(f *testProvider) { f.readings = map[string]runtime.Reading{} })
				w.start()
				if a := w.agent("a"); !strings.Contains(a.Reason, "limited") || !strings.Contains(a.Reason, "5-hour") {
					t.Errorf("the reason is %q, want the limit", a.Reason)
				}
				if known {
					w.advance(time.Until(until) - time.Second)
				}
				if got := w.provider.number("start"); got != 1 {
					t.Errorf("%d starts within the limit", got-1)
				}
				w.advance(35 * time.Minute)
				w.want("a", client.StateRunning)
				if got := w.provider.number("start"); got != 2 {
					t.Errorf("%d starts after the limit, want one", got-1)
				}
				if r := w.records.record(t, "gc-town-a"); r.Obstacle != (session.Obstacle{}) {
					t.Errorf("the limit is still kept: %+v", r.Obstacle)
				}
			})
		})
	}
}

// TestUsageLimitInTheLastOutputIsNoFailure: the agent exits before it was read,
// while it runs or during a start.
func TestUsageLimitInTheLastOutputIsNoFailure(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.settings = config.Daemon{MaxRestarts: 1, RestartWindow: time.Hour}
		w.start()
		until := time.Now().Add(2 * time.Hour)
		says := func(until time.Time) { // a new value, because another goroutine may read the old one
			last := &runtime.Evidence{Source: runtime.SourceScreen, Activity: runtime.ActivityLimited, Until: until, Detail: "usage limit"}
			w.provider.set(func(f *testProvider) {
				f.last = last
				f.onStart = func(context.Context, string) error {
					return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: "usage limit", Last: last}
				}
			})
		}
		says(until)
		w.provider.end("gc-town-a", 1)
		w.advance(time.Hour)
		if got := w.provider.number("start"); got != 1 {
			t.Errorf("%d starts within the limit", got-1)
		}
		next := until.Add(2 * time.Hour)
		says(next)
		w.advance(90 * time.Minute) // one start, whose agent has the same limit
		if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 0 || !r.Obstacle.ResetAt.Equal(next) || w.provider.number("start") != 2 {
			t.Errorf("%d starts, the store holds %+v; want one try and the new limit", w.provider.number("start"), r)
		}
		w.provider.set(func(f *testProvider) { f.onStart = nil })
		w.advance(2 * time.Hour)
		w.want("a", client.StateRunning)
	})
}

// TestUnreadableAgentDoesNotCountAsIdle has an agent whose last reading is idle.
// It cannot be read any more, and may be busy.
func TestUnreadableAgentDoesNotCountAsIdle(t *testing.T) {
	for name, fault := range map[string]func(ctx context.Context, hung chan struct{}) error{
		"fails": func(context.Context, chan struct{}) error { return errors.New("the shim does not answer in time") },
		"hangs": func(_ context.Context, hung chan struct{}) error { <-hung; return errors.New("over") },
	} {
		for _, prints := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", prints: ", prints), func(t *testing.T) {
				inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
					hung := make(chan struct{})
					w.edit(func(d *plan.Desired) { d.Sessions[0].IdleAfter = 10 * time.Minute })
					w.provider.readings = map[string]runtime.Reading{}
					w.start()
					w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
					w.advance(time.Minute)
					w.provider.set(func(f *testProvider) {
						f.onSense = func(ctx context.Context, _ string) error { return fault(ctx, hung) }
					})
					for range 20 * 60 {
						if prints {
							w.provider.works("gc-town-a")
						}
						w.advance(time.Second)
						if a := w.agent("a"); a.State != client.StateRunning && a.State != client.StateStopping {
							t.Fatalf("it could not be read, and it is %s (%s)", a.State, a.Reason)
						}
					}
					w.want("a", client.StateRunning)
					if n := w.provider.number("stop"); n != 0 {
						t.Errorf("it was stopped %d times", n)
					}
					close(hung)
					w.provider.set(func(f *testProvider) { f.onSense = nil })
					w.provider.works("gc-town-a")
					w.advance(25 * time.Minute)
					w.want("a", client.StateAsleep) // it can be read again: it was idle all the time
				})
			})
		}
	}
}
