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
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

func TestWhatAnAgentDrawsBecomesItsActivity(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.after(time.Second)
		for _, word := range []runtime.Activity{runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityWaiting, runtime.ActivityBusy} {
			w.fake.setActivity("gc-town-a", word)
			w.after(300 * time.Millisecond)
			if got := w.agent("a").Activity; got.State != string(word) || got.Source != "screen" || got.Confidence != "guess" {
				t.Errorf("drawn as %s it is shown as %+v", word, got)
			}
		}
		w.fake.setActivity("gc-town-a", "")
		w.after(300 * time.Millisecond)
		if got := w.agent("a").Activity.State; got != "unknown" {
			t.Errorf("an agent that draws nothing known is shown as %s, want unknown", got)
		}
		w.after(time.Second)
		var told []string
		events, _, _ := w.log.After(0)
		for _, e := range events {
			if e.Kind == "session.activity" {
				told = append(told, e.Data["activity"])
			}
		}
		if want := []string{"busy", "idle", "waiting", "busy", "unknown"}; !slices.Equal(told[len(told)-5:], want) {
			t.Errorf("reported %v, want the last to be %v", told, want)
		}
	})
}

// TestActivityIsReadAfterAnUnknownState: what an agent prints while it is not known whether it runs
// is read once that is known, even if it prints nothing more.
func TestActivityIsReadAfterAnUnknownState(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.fake.setActivity("gc-town-a", runtime.ActivityIdle)
		w.after(time.Second)
		w.fake.set(func(f *fake) {
			f.blind["gc-town-a"] = true
			f.emit(runtime.Event{Kind: runtime.EventExited, Session: "gc-town-a"})
		})
		w.after(time.Second)
		w.want("a", client.StateUnknown)
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy)
		w.after(time.Second)
		w.fake.set(func(f *fake) { clear(f.blind) })
		w.after(2 * time.Minute)
		w.want("a", client.StateRunning)
		if got := w.agent("a").Activity.State; got != string(runtime.ActivityBusy) {
			t.Errorf("after the unknown state the agent is shown as %s, want busy", got)
		}
	})
}

// TestActivityOfASuccessorIsRead: an instance that somebody else started while the provider was down
// is read, even if it prints nothing more.
func TestActivityOfASuccessorIsRead(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.fake.setActivity("gc-town-a", runtime.ActivityIdle)
		w.after(time.Second)
		w.fake.set(func(f *fake) {
			f.down = errDown
			f.sessions["gc-town-a"].token = "of-somebody"
			f.emit(runtime.Event{Kind: runtime.EventStarted, Session: "gc-town-a"})
		})
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy)
		w.after(time.Second)
		w.fake.set(func(f *fake) { f.down = nil })
		w.after(2 * time.Minute)
		w.want("a", client.StateRunning)
		if got := w.agent("a").Activity.State; got != string(runtime.ActivityBusy) {
			t.Errorf("the successor is shown as %s, want busy", got)
		}
	})
}

func TestSensingIsBoundedAndEndsWithTheOutput(t *testing.T) {
	inFakeCity(t, names(40), func(t *testing.T, w *fakeCity) {
		var mu sync.Mutex
		under, most := 0, 0
		w.fake.readings = map[string]runtime.Reading{}
		w.fake.onSense = func(ctx context.Context, _ string) error {
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
		w.begin()
		w.after(time.Minute)
		before := w.fake.number("sense")
		for i := range 100 { // 10 s of output, ten times a second
			w.fake.setActivity("gc-town-a000", runtime.ActivityBusy, func(r *runtime.Reading) { r.Evidence[0].Detail = fmt.Sprint(i) })
			for _, name := range names(40)[1:] {
				w.fake.works("gc-town-" + name)
			}
			w.after(100 * time.Millisecond)
		}
		w.after(time.Second)
		if got := (w.fake.number("sense") - before) / 40; got < 20 || got > 44 {
			t.Errorf("%d readings of each session in 10 s of output, want about 40", got)
		}
		if most > sensesAtime {
			t.Errorf("%d readings at a time, want at most %d", most, sensesAtime)
		}
		events, _, _ := w.log.After(0)
		if n := len(slices.DeleteFunc(events, func(e client.Event) bool { return e.Kind != "session.activity" || e.Session != "gc-town-a000" })); n > 2 {
			t.Errorf("%d changes reported of an agent that was busy all the time", n)
		}
		w.fake.setActivity("gc-town-a000", runtime.ActivityIdle) // the trailing edge
		w.after(time.Second)
		if got := w.agent("a000").Activity.State; got != "idle" {
			t.Errorf("after the last output it is shown as %s", got)
		}
		rest, writes := w.fake.number("sense"), w.records.count()
		w.after(time.Hour)
		if w.fake.number("sense") != rest || w.records.count() != writes {
			t.Errorf("%d readings and %d writes of an idle fleet in an hour", w.fake.number("sense")-rest, w.records.count()-writes)
		}
	})
}

func TestAHungReadingKeepsItsSessionOnly(t *testing.T) {
	inFakeCity(t, []string{"hung", "fine"}, func(t *testing.T, w *fakeCity) {
		release := make(chan struct{})
		w.fake.readings = map[string]runtime.Reading{}
		w.fake.onSense = func(_ context.Context, name string) error {
			if name == "gc-town-hung" {
				<-release
			}
			return nil
		}
		w.begin()
		w.fake.setActivity("gc-town-fine", runtime.ActivityIdle)
		w.after(time.Second)
		if got := w.agent("fine").Activity.State; got != "idle" {
			t.Errorf("beside a hung reading the activity is %s", got)
		}
		w.fake.setActivity("gc-town-hung", runtime.ActivityBusy)
		close(release)
		w.after(2 * time.Second)
		if got := w.agent("hung").Activity.State; got != "busy" {
			t.Errorf("after the hang the activity is %s", got)
		}
	})
}

// TestTypingMakesNoEvents lets a person type: with each key the screen is unknown and ready
// again. It proves that this makes no events, that status shows each state at once, that a
// question and a turn become events at once, and that what stays unknown becomes one.
func TestTypingMakesNoEvents(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.fake.setActivity("gc-town-a", runtime.ActivityReady)
		w.after(3 * time.Second)
		before := len(w.activities())
		for range 8 {
			for _, word := range []runtime.Activity{"", runtime.ActivityReady} {
				w.fake.setActivity("gc-town-a", word)
				w.after(400 * time.Millisecond)
				if got := w.agent("a").Activity.State; got != string(word) && word != "" || word == "" && got != "unknown" {
					t.Errorf("drawn as %q it is shown as %s", word, got)
				}
			}
		}
		if told := w.activities()[before:]; len(told) != 0 {
			t.Errorf("typing made the events %v", told)
		}
		for _, word := range []runtime.Activity{"", runtime.ActivityWaiting, "", runtime.ActivityBusy, "", runtime.ActivityIdle} {
			w.fake.setActivity("gc-town-a", word)
			w.after(400 * time.Millisecond)
		}
		w.fake.setActivity("gc-town-a", "")
		w.after(2 * time.Second)
		if told, want := w.activities()[before:], []string{"waiting", "busy", "idle", "unknown"}; !slices.Equal(told, want) {
			t.Errorf("then the events were %v, want %v", told, want)
		}
		w.after(time.Hour)
		if told := w.activities()[before:]; len(told) != 4 {
			t.Errorf("an hour later they are %v", told)
		}
	})
}

// TestAReadingOfAPreviousInstanceIsDropped replaces the agent while it is read.
func TestAReadingOfAPreviousInstanceIsDropped(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.after(time.Second)
		hold := make(chan struct{})
		w.fake.set(func(f *fake) {
			f.onSense = func(context.Context, string) error { <-hold; return nil }
		})
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy)
		synctest.Wait()
		w.fake.set(func(f *fake) { f.onSense = nil })
		w.fake.end("gc-town-a", 1)
		w.after(2 * time.Second)
		w.fake.setActivity("gc-town-a", "")
		w.after(time.Second)
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
func (w *fakeCity) activities() []string {
	var told []string
	events, _, _ := w.log.After(0)
	for _, e := range events {
		if e.Kind == "session.activity" {
			told = append(told, e.Data["activity"])
		}
	}
	return told
}

func TestAReadingIsRepeatedWhenItSaysSo(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy, func(r *runtime.Reading) { r.Again = time.Now().Add(40 * time.Second) })
		w.after(time.Second)
		w.fake.set(func(f *fake) { // nothing is printed
			f.readings["gc-town-a"] = runtime.Reading{Evidence: []runtime.Evidence{{Source: runtime.SourceScreen, Activity: runtime.ActivityIdle}}}
		})
		w.after(38 * time.Second)
		early := w.agent("a").Activity.State
		w.after(2 * time.Second)
		if late := w.agent("a").Activity.State; early != "busy" || late != "idle" {
			t.Errorf("before it was due the activity was %s, after that %s; want busy and idle", early, late)
		}
	})
}

func TestViewsTellEnginesWhatTheyNeed(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		var mu sync.Mutex
		told := map[string]int{}
		w.change = func(o *Options) {
			o.Changed = func(name string) {
				mu.Lock()
				defer mu.Unlock()
				told[name]++
			}
		}
		looks := func() int { mu.Lock(); defer mu.Unlock(); return told["gc-town-a"] }
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.after(time.Second)
		v, err := w.c.Snapshot("a")
		if err != nil || !v.Running || !v.Ready || v.Token != w.fake.lives()["gc-town-a"] || v.Epoch != 1 || v.Provider == nil || v.Unknown != "" {
			t.Errorf("the view is %+v, %v", v, err)
		}
		if len(w.c.Snapshots()) != 2 {
			t.Errorf("%d views, want 2", len(w.c.Snapshots()))
		}
		if _, err := w.c.Snapshot("nobody"); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("the view of an unknown agent: %v", err)
		}
		for what, change := range map[string]func(){
			"activity": func() { w.fake.setActivity("gc-town-a", runtime.ActivityBusy) },
			"question": func() {
				w.fake.setActivity("gc-town-a", runtime.ActivityBusy, func(r *runtime.Reading) {
					r.Pending = &runtime.PendingInteraction{RequestID: "q1", Kind: "permission", Prompt: "Allow?"}
				})
			},
			"attached": func() {
				w.fake.set(func(f *fake) { f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a", Attached: 1}) })
			},
			"drain": func() { mustDo(t, w.c.Drain, client.LifecycleRequest{}) },
		} {
			before := looks()
			change()
			w.after(time.Second)
			if looks() == before {
				t.Errorf("the new %s was not reported", what)
			}
		}
		if v, _ := w.c.Snapshot("a"); v.Pending == nil && v.Activity.State != runtime.ActivityBusy || !v.Draining || v.Attached != 1 {
			t.Errorf("the view is %+v", v)
		}
		before := looks()
		w.after(time.Minute)
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
		w.after(time.Second)
		if _, err := w.c.Snapshot("a"); err == nil || looks() == before {
			t.Errorf("a session that is gone has a view (%v), reported %d times", err, looks()-before)
		}
	})
}

// mustDo gives agent a an order that has to be carried out.
func mustDo(t *testing.T, verb func(context.Context, string, client.LifecycleRequest) (client.Done, error), req client.LifecycleRequest) client.Done {
	t.Helper()
	done, err := verb(t.Context(), "a", req)
	if err != nil || !done.Changed {
		t.Errorf("the order says %+v, %v", done, err)
	}
	return done
}

// TestALimitIsNoCrash is R17's proof.
func TestALimitIsNoCrash(t *testing.T) {
	for name, known := range map[string]bool{"with an end": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
				w.settings = Settings{MaxRestarts: 1, RestartWindow: time.Hour}
				w.fake.readings = map[string]runtime.Reading{}
				w.begin()
				until := time.Now().Add(3 * time.Hour)
				w.fake.setActivity("gc-town-a", runtime.ActivityLimited, func(r *runtime.Reading) {
					if known {
						r.Evidence[0].Until = until
					}
					r.Evidence[0].Detail = "5-hour limit reached"
				})
				w.after(time.Second)
				w.fake.end("gc-town-a", 1)
				w.after(10 * time.Minute)
				if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 0 || r.Obstacle.Kind != runtime.ObstacleLimit || !known && !r.Obstacle.ResetAt.IsZero() {
					t.Errorf("the store holds %+v, want a limit and no failure", r)
				}
				w.end() // a later controller keeps the limit
				w.fake.set(func(f *fake) { f.readings = map[string]runtime.Reading{} })
				w.begin()
				if a := w.agent("a"); !strings.Contains(a.Reason, "limited") || !strings.Contains(a.Reason, "5-hour") {
					t.Errorf("the reason is %q, want the limit", a.Reason)
				}
				if known {
					w.after(time.Until(until) - time.Second)
				}
				if got := w.fake.number("start"); got != 1 {
					t.Errorf("%d starts within the limit", got-1)
				}
				w.after(35 * time.Minute)
				w.want("a", client.StateRunning)
				if got := w.fake.number("start"); got != 2 {
					t.Errorf("%d starts after the limit, want one", got-1)
				}
				if r := w.records.record(t, "gc-town-a"); r.Obstacle != (session.Obstacle{}) {
					t.Errorf("the limit is still kept: %+v", r.Obstacle)
				}
			})
		})
	}
}

// TestALimitInTheLastWordsIsNoCrash: the agent ends before anybody could read it,
// at once or after a start.
func TestALimitInTheLastWordsIsNoCrash(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.settings = Settings{MaxRestarts: 1, RestartWindow: time.Hour}
		w.begin()
		until := time.Now().Add(2 * time.Hour)
		says := func(until time.Time) { // what it said is never changed: somebody may read it
			last := &runtime.Evidence{Source: runtime.SourceScreen, Activity: runtime.ActivityLimited, Until: until, Detail: "usage limit"}
			w.fake.set(func(f *fake) {
				f.last = last
				f.onStart = func(context.Context, string) error {
					return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: "usage limit", Last: last}
				}
			})
		}
		says(until)
		w.fake.end("gc-town-a", 1)
		w.after(time.Hour)
		if got := w.fake.number("start"); got != 1 {
			t.Errorf("%d starts within the limit", got-1)
		}
		next := until.Add(2 * time.Hour)
		says(next)
		w.after(90 * time.Minute) // one try, whose agent says so again
		if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 0 || !r.Obstacle.ResetAt.Equal(next) || w.fake.number("start") != 2 {
			t.Errorf("%d starts, the store holds %+v; want one try and the new limit", w.fake.number("start"), r)
		}
		w.fake.set(func(f *fake) { f.onStart = nil })
		w.after(2 * time.Hour)
		w.want("a", client.StateRunning)
	})
}

// TestWhatCannotBeReadIsNotTakenForIdle has an agent that was idle when it was read
// last. It cannot be read any more, and it may work.
func TestWhatCannotBeReadIsNotTakenForIdle(t *testing.T) {
	for name, fault := range map[string]func(ctx context.Context, hung chan struct{}) error{
		"fails": func(context.Context, chan struct{}) error { return errors.New("the shim does not answer in time") },
		"hangs": func(_ context.Context, hung chan struct{}) error { <-hung; return errors.New("over") },
	} {
		for _, prints := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", prints: ", prints), func(t *testing.T) {
				inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
					hung := make(chan struct{})
					w.edit(func(d *plan.Desired) { d.Sessions[0].IdleAfter = 10 * time.Minute })
					w.fake.readings = map[string]runtime.Reading{}
					w.begin()
					w.fake.setActivity("gc-town-a", runtime.ActivityIdle)
					w.after(time.Minute)
					w.fake.set(func(f *fake) { f.onSense = func(ctx context.Context, _ string) error { return fault(ctx, hung) } })
					for range 20 * 60 {
						if prints {
							w.fake.works("gc-town-a")
						}
						w.after(time.Second)
						if a := w.agent("a"); a.State != client.StateRunning && a.State != client.StateStopping {
							t.Fatalf("it could not be read, and it is %s (%s)", a.State, a.Reason)
						}
					}
					w.want("a", client.StateRunning)
					if n := w.fake.number("stop"); n != 0 {
						t.Errorf("it was stopped %d times", n)
					}
					close(hung)
					w.fake.set(func(f *fake) { f.onSense = nil })
					w.fake.works("gc-town-a")
					w.after(25 * time.Minute)
					w.want("a", client.StateAsleep) // it was idle all the time, and that can be read again
				})
			})
		}
	}
}
