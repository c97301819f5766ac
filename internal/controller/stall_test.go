package controller

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/service/questions"
	"gascity/runtime"
)

// stallAfter is the progress_stall_timeout of these tests.
const stallAfter = 20 * time.Minute

// stalls gives the agents a progress_stall_timeout, and every reading a compared screen.
func (w *fakeCity) stalls(act string) {
	w.fake.readings = map[string]runtime.Reading{}
	w.edit(func(d *plan.Desired) {
		for i := range d.Sessions {
			d.Sessions[i].Stall = plan.StallPolicy{After: stallAfter, Act: act}
		}
	})
}

// shows has an agent be in a turn, with the given progress.
func (w *fakeCity) shows(p runtime.Progress, more ...func(*runtime.Reading)) {
	p.Screen = true
	w.fake.setActivity("gc-town-a", runtime.ActivityBusy, append(more, func(r *runtime.Reading) { r.Progress = p })...)
	w.after(time.Second)
}

func (w *fakeCity) count(kind string) (n int) {
	for _, k := range w.allKinds() {
		if k == kind {
			n++
		}
	}
	return n
}

// An agent whose spinner goes on turning and that shows nothing else is stalled: status says
// so, it is reported once, and nothing is done to it. New text ends the stall.
func TestAnAgentWithoutProgressIsStalled(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.stalls("report")
		w.begin()
		sign := time.Now()
		w.shows(runtime.Progress{At: sign, Sign: "new text on the screen"})
		before := w.fake.lives()
		for range 19 { // the spinner prints all the time
			w.after(time.Minute)
			w.fake.works("gc-town-a")
		}
		if a := w.agent("a"); !a.StalledSince.IsZero() || w.count("session.stalled") != 0 {
			t.Fatalf("after 19 minutes it is stalled already: %+v", a)
		}
		w.after(2 * time.Minute)
		if a := w.agent("a"); a.StalledSince.IsZero() || a.LastSign == "" || w.count("session.stalled") != 1 {
			t.Fatalf("after 21 minutes the agent is %+v with %d reports; want it stalled, reported once", a, w.count("session.stalled"))
		}
		for range 120 {
			w.after(time.Minute)
			w.fake.works("gc-town-a")
		}
		if n := w.count("session.stalled"); n != 1 || w.count("session.stall_ended") != 0 || w.count("session.interrupted") != 0 {
			t.Errorf("the stall was reported %d times in two hours, want once and nothing done", n)
		}
		if after := w.fake.lives(); after["gc-town-a"] != before["gc-town-a"] {
			t.Errorf("it was restarted although the city does not say so")
		}
		w.shows(runtime.Progress{At: time.Now(), Sign: "new text on the screen"})
		if a := w.agent("a"); !a.StalledSince.IsZero() || w.count("session.stall_ended") != 1 {
			t.Errorf("after new text the agent is %+v, want the stall over", a)
		}
		w.after(stallAfter + 2*time.Second)
		if n := w.count("session.stalled"); n != 2 {
			t.Errorf("a second stall makes %d reports in all, want 2", n)
		}
	})
}

// What takes long and is no stall: a tool that runs, a question, a limit, an agent that is idle
// or of unknown activity, a person who types, and a city that has not set the time.
func TestWhatTakesLongIsNoStall(t *testing.T) {
	for name, do := range map[string]func(w *fakeCity){
		"a tool runs": func(w *fakeCity) { w.shows(runtime.Progress{At: time.Now(), Sign: "start", Tool: "Bash"}) },
		"a question": func(w *fakeCity) {
			w.shows(runtime.Progress{}, func(r *runtime.Reading) {
				r.Pending = &runtime.PendingInteraction{RequestID: "q", Kind: runtime.WaitPermission, Prompt: "May I?"}
			})
		},
		"attempts": func(w *fakeCity) {
			for i := range 13 {
				w.shows(runtime.Progress{}, func(r *runtime.Reading) {
					r.Evidence[0].Obstacle = runtime.Obstacle{Kind: runtime.ObstacleRetrying, Detail: "429 slow down", Attempt: i + 1, Of: 20}
				})
				w.after(15 * time.Minute)
			}
			w.fake.setActivity("gc-town-a", runtime.ActivityIdle)
		},
		"a late attempt": func(w *fakeCity) {
			w.shows(runtime.Progress{}, func(r *runtime.Reading) {
				r.Evidence[0].Obstacle = runtime.Obstacle{Kind: runtime.ObstacleNoNetwork, NextTry: time.Now().Add(3 * time.Hour)}
			})
		},
		"a driver that reports neither progress nor activity": func(w *fakeCity) {
			w.fake.set(func(f *fake) { f.quiet = true })
			w.fake.setActivity("gc-town-a", runtime.ActivityBusy)
		},
		"a limit":    func(w *fakeCity) { w.fake.setActivity("gc-town-a", runtime.ActivityLimited) },
		"idle":       func(w *fakeCity) { w.fake.setActivity("gc-town-a", runtime.ActivityIdle) },
		"unknown":    func(w *fakeCity) { w.fake.setActivity("gc-town-a", "") },
		"background": func(w *fakeCity) { w.fake.setActivity("gc-town-a", runtime.ActivityBackground) },
		"not set": func(w *fakeCity) {
			w.edit(func(d *plan.Desired) { d.Sessions[0].Stall = plan.StallPolicy{} })
			if err := w.reload(); err != nil {
				w.t.Error(err)
			}
			w.shows(runtime.Progress{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
				w.stalls("restart")
				w.begin()
				before := w.fake.lives()
				do(w)
				w.after(3 * time.Hour)
				if a := w.agent("a"); !a.StalledSince.IsZero() || w.count("session.stalled") != 0 || w.fake.lives()["gc-town-a"] != before["gc-town-a"] {
					t.Errorf("it counts as stalled: %+v", a)
				}
			})
		})
	}
}

// Eight hours of sleep of the host, and eight hours without a controller, are no stall: the time
// before and after is what counts.
func TestSleepAndAnAbsentControllerAreNoStall(t *testing.T) {
	for _, monotonic := range []bool{true, false} {
		inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
			leap := w.leaps(monotonic)
			w.stalls("restart")
			w.begin()
			w.shows(runtime.Progress{At: time.Now(), Sign: "new text on the screen"})
			before := w.fake.lives()
			w.after(10 * time.Minute)
			leap(8 * time.Hour)
			w.after(9 * time.Minute)
			if n := w.count("session.stalled"); n != 0 || w.fake.lives()["gc-town-a"] != before["gc-town-a"] {
				t.Fatalf("with a monotonic clock: %v: %d stalls after the host has slept", monotonic, n)
			}
			w.end()
			w.after(8 * time.Hour)
			w.begin()
			w.after(19 * time.Minute)
			if n := w.count("session.stalled"); n != 0 || w.fake.lives()["gc-town-a"] != before["gc-town-a"] {
				t.Fatalf("with a monotonic clock: %v: %d stalls after a time without a controller", monotonic, n)
			}
			w.after(2 * time.Minute)
			if n := w.count("session.stalled"); n != 1 {
				t.Errorf("with a monotonic clock: %v: %d stalls after 21 minutes without progress, want 1", monotonic, n)
			}
		})
	}
}

// on_stall = "interrupt": the turn is interrupted, once for each stall.
func TestAStalledTurnIsInterruptedOnce(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.stalls("interrupt")
		w.begin()
		w.shows(runtime.Progress{At: time.Now()})
		before := w.fake.lives()
		w.after(5 * time.Hour)
		if n, lives := w.fake.number("interrupt"), w.fake.lives(); n != 1 || lives["gc-town-a"] != before["gc-town-a"] {
			t.Errorf("%d interrupts of one stall, %v; want 1 and the same agent", n, lives)
		}
		if w.count("session.stalled") != 1 || w.agent("a").StalledSince.IsZero() {
			t.Errorf("it is not shown as stalled after an interrupt without effect: %v", w.allKinds())
		}
	})
}

// on_stall = "restart": the agent is restarted, but not while a person's terminal is attached.
func TestAStalledAgentIsRestarted(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.stalls("restart")
		w.begin()
		before := w.fake.lives()
		w.fake.attach("gc-town-a", 1)
		w.shows(runtime.Progress{At: time.Now()})
		w.after(time.Hour)
		if after := w.fake.lives(); after["gc-town-a"] != before["gc-town-a"] || w.count("session.stalled") != 1 {
			t.Fatalf("with a terminal attached it runs as %v with %d reports, want it reported and left alone", after, w.count("session.stalled"))
		}
		w.fake.attach("gc-town-a", 0)
		w.after(time.Minute)
		after := w.fake.lives()
		if after["gc-town-a"] == "" || after["gc-town-a"] == before["gc-town-a"] {
			t.Errorf("it was %s and is %s, want another one", before["gc-town-a"], after["gc-town-a"])
		}
	})
}

// A person is asked about a stalled agent, and the answer is carried out.
func TestAPersonIsAskedAboutAStalledAgent(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.stalls("report")
		w.begin()
		desk := questions.New(questions.Options{City: w.c, Store: w.records, Events: w.log, Logger: w.options().Logger, Now: time.Now, Random: rand.Text})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- desk.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
		before := w.fake.lives()
		ask := func() client.Pending {
			w.shows(runtime.Progress{At: time.Now()})
			w.after(stallAfter + time.Second)
			desk.SessionChanged("gc-town-a")
			w.after(time.Second)
			all, err := desk.Pending(t.Context(), "", "")
			if err != nil || len(all) != 1 || all[0].Kind != client.PendingStalled {
				t.Fatalf("the questions are %+v, %v", all, err)
			}
			return all[0]
		}
		answer := func(q client.Pending, option string) {
			if !slices.Contains(q.Options, option) {
				t.Fatalf("%q is none of %v", option, q.Options)
			}
			if _, err := desk.Respond(t.Context(), q.ID, client.RespondRequest{Option: option}); err != nil {
				t.Fatalf("answer %q: %v", option, err)
			}
			w.after(time.Second)
		}
		answer(ask(), "Wait longer")
		if w.fake.number("interrupt") != 0 || w.fake.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Error("to wait longer did something to the agent")
		}
		answer(ask(), "Interrupt its turn")
		if w.fake.number("interrupt") != 1 || w.fake.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Errorf("%d interrupts after the answer, want 1", w.fake.number("interrupt"))
		}
		answer(ask(), "Restart it")
		w.after(10 * time.Second)
		if after := w.fake.lives()["gc-town-a"]; after == "" || after == before["gc-town-a"] {
			t.Errorf("after the answer to restart it runs as %q", after)
		}
	})
}

// attach connects or disconnects the terminals of an agent.
func (f *fake) attach(name string, terminals int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[name].attached = terminals
	f.emit(runtime.Event{Kind: runtime.EventAttached, Session: name, Attached: terminals})
}
