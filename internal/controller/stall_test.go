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

// useStalls gives the agents a progress_stall_timeout, and every reading a compared screen.
func (w *testCity) useStalls(act string) {
	w.provider.readings = map[string]runtime.Reading{}
	w.edit(func(d *plan.Desired) {
		for i := range d.Sessions {
			d.Sessions[i].Stall = plan.StallPolicy{After: stallAfter, Act: act}
		}
	})
}

// setProgress makes the agent busy, with the given progress.
func (w *testCity) setProgress(p runtime.Progress, more ...func(*runtime.Reading)) {
	p.Screen = true
	w.provider.setActivity("gc-town-a", runtime.ActivityBusy, append(more, func(r *runtime.Reading) { r.Progress = p })...)
	w.advance(time.Second)
}

func (w *testCity) count(kind string) (n int) {
	for _, k := range w.allKinds() {
		if k == kind {
			n++
		}
	}
	return n
}

// An agent that shows nothing but a moving spinner is stalled: the status says so, one event reports it,
// and the agent is not changed. New text ends the stall.
func TestAgentWithoutProgressIsStalled(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.useStalls("report")
		w.start()
		sign := time.Now()
		w.setProgress(runtime.Progress{At: sign, Sign: "new text on the screen"})
		before := w.provider.lives()
		for range 19 { // the spinner prints all the time
			w.advance(time.Minute)
			w.provider.works("gc-town-a")
		}
		if a := w.agent("a"); !a.StalledSince.IsZero() || w.count("session.stalled") != 0 {
			t.Fatalf("after 19 minutes it is stalled already: %+v", a)
		}
		w.advance(2 * time.Minute)
		if a := w.agent("a"); a.StalledSince.IsZero() || a.LastSign == "" || w.count("session.stalled") != 1 {
			t.Fatalf("after 21 minutes the agent is %+v with %d reports; want it stalled, reported once", a, w.count("session.stalled"))
		}
		for range 120 {
			w.advance(time.Minute)
			w.provider.works("gc-town-a")
		}
		if n := w.count("session.stalled"); n != 1 || w.count("session.stall_ended") != 0 || w.count("session.interrupted") != 0 {
			t.Errorf("the stall was reported %d times in two hours, want once and nothing done", n)
		}
		if after := w.provider.lives(); after["gc-town-a"] != before["gc-town-a"] {
			t.Errorf("it was restarted although the city does not say so")
		}
		w.setProgress(runtime.Progress{At: time.Now(), Sign: "new text on the screen"})
		if a := w.agent("a"); !a.StalledSince.IsZero() || w.count("session.stall_ended") != 1 {
			t.Errorf("after new text the agent is %+v, want the stall over", a)
		}
		w.advance(stallAfter + 2*time.Second)
		if n := w.count("session.stalled"); n != 2 {
			t.Errorf("a second stall makes %d reports in all, want 2", n)
		}
	})
}

// These are no stall: a running tool, a question, a limit, an agent that is idle or of unknown activity,
// a person who types, and a city without progress_stall_timeout.
func TestLongOperationsAreNoStall(t *testing.T) {
	for name, do := range map[string]func(w *testCity){
		"a tool runs": func(w *testCity) { w.setProgress(runtime.Progress{At: time.Now(), Sign: "start", Tool: "Bash"}) },
		"a question": func(w *testCity) {
			w.setProgress(runtime.Progress{}, func(r *runtime.Reading) {
				r.Pending = &runtime.PendingInteraction{RequestID: "q", Kind: runtime.WaitPermission, Prompt: "May I?"}
			})
		},
		"attempts": func(w *testCity) {
			for i := range 13 {
				w.setProgress(runtime.Progress{}, func(r *runtime.Reading) {
					r.Evidence[0].Obstacle = runtime.Obstacle{Kind: runtime.ObstacleRetrying, Detail: "429 slow down", Attempt: i + 1, Of: 20}
				})
				w.advance(15 * time.Minute)
			}
			w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		},
		"a late attempt": func(w *testCity) {
			w.setProgress(runtime.Progress{}, func(r *runtime.Reading) {
				r.Evidence[0].Obstacle = runtime.Obstacle{Kind: runtime.ObstacleNoNetwork, NextTry: time.Now().Add(3 * time.Hour)}
			})
		},
		"a driver that reports neither progress nor activity": func(w *testCity) {
			w.provider.set(func(f *testProvider) { f.quiet = true })
			w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		},
		"a limit":    func(w *testCity) { w.provider.setActivity("gc-town-a", runtime.ActivityLimited) },
		"idle":       func(w *testCity) { w.provider.setActivity("gc-town-a", runtime.ActivityIdle) },
		"unknown":    func(w *testCity) { w.provider.setActivity("gc-town-a", "") },
		"background": func(w *testCity) { w.provider.setActivity("gc-town-a", runtime.ActivityBackground) },
		"not set": func(w *testCity) {
			w.edit(func(d *plan.Desired) { d.Sessions[0].Stall = plan.StallPolicy{} })
			if err := w.reload(); err != nil {
				w.t.Error(err)
			}
			w.setProgress(runtime.Progress{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
				w.useStalls("restart")
				w.start()
				before := w.provider.lives()
				do(w)
				w.advance(3 * time.Hour)
				if a := w.agent("a"); !a.StalledSince.IsZero() || w.count("session.stalled") != 0 || w.provider.lives()["gc-town-a"] != before["gc-town-a"] {
					t.Errorf("it counts as stalled: %+v", a)
				}
			})
		})
	}
}

// Eight hours of a suspended host, or without a controller, are no stall. Only the time before and after
// counts.
func TestSuspendAndControllerDowntimeAreNoStall(t *testing.T) {
	for _, monotonic := range []bool{true, false} {
		inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
			leap := w.useMovableClock(monotonic)
			w.useStalls("restart")
			w.start()
			w.setProgress(runtime.Progress{At: time.Now(), Sign: "new text on the screen"})
			before := w.provider.lives()
			w.advance(10 * time.Minute)
			leap(8 * time.Hour)
			w.advance(9 * time.Minute)
			if n := w.count("session.stalled"); n != 0 || w.provider.lives()["gc-town-a"] != before["gc-town-a"] {
				t.Fatalf("with a monotonic clock: %v: %d stalls after the host has slept", monotonic, n)
			}
			w.stop()
			w.advance(8 * time.Hour)
			w.start()
			w.advance(19 * time.Minute)
			if n := w.count("session.stalled"); n != 0 || w.provider.lives()["gc-town-a"] != before["gc-town-a"] {
				t.Fatalf("with a monotonic clock: %v: %d stalls after a time without a controller", monotonic, n)
			}
			w.advance(2 * time.Minute)
			if n := w.count("session.stalled"); n != 1 {
				t.Errorf("with a monotonic clock: %v: %d stalls after 21 minutes without progress, want 1", monotonic, n)
			}
		})
	}
}

// on_stall = "interrupt": the turn is interrupted, once for each stall.
func TestStalledTurnIsInterruptedOnce(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.useStalls("interrupt")
		w.start()
		w.setProgress(runtime.Progress{At: time.Now()})
		before := w.provider.lives()
		w.advance(5 * time.Hour)
		if n, lives := w.provider.number("interrupt"), w.provider.lives(); n != 1 || lives["gc-town-a"] != before["gc-town-a"] {
			t.Errorf("%d interrupts of one stall, %v; want 1 and the same agent", n, lives)
		}
		if w.count("session.stalled") != 1 || w.agent("a").StalledSince.IsZero() {
			t.Errorf("it is not shown as stalled after an interrupt without effect: %v", w.allKinds())
		}
	})
}

// on_stall = "restart": the agent is restarted, but not while a person's terminal is attached.
func TestStalledAgentIsRestarted(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.useStalls("restart")
		w.start()
		before := w.provider.lives()
		w.provider.attach("gc-town-a", 1)
		w.setProgress(runtime.Progress{At: time.Now()})
		w.advance(time.Hour)
		if after := w.provider.lives(); after["gc-town-a"] != before["gc-town-a"] || w.count("session.stalled") != 1 {
			t.Fatalf("with a terminal attached it runs as %v with %d reports, want it reported and left alone", after, w.count("session.stalled"))
		}
		w.provider.attach("gc-town-a", 0)
		w.advance(time.Minute)
		after := w.provider.lives()
		if after["gc-town-a"] == "" || after["gc-town-a"] == before["gc-town-a"] {
			t.Errorf("it was %s and is %s, want another one", before["gc-town-a"], after["gc-town-a"])
		}
	})
}

// A person is asked about a stalled agent, and the answer is carried out.
func TestStalledAgentRaisesAQuestion(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.useStalls("report")
		w.start()
		desk := questions.New(questions.Options{City: w.c, Store: w.records, Events: w.log, Logger: w.options().Logger, Now: time.Now, Random: rand.Text, Policy: func(string) questions.Policy { return questions.Policy{} }, Sense: func(string) {}, Notify: func(context.Context, client.Pending) error { return nil }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- desk.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
		before := w.provider.lives()
		ask := func() client.Pending {
			w.setProgress(runtime.Progress{At: time.Now()})
			w.advance(stallAfter + time.Second)
			desk.SessionChanged("gc-town-a")
			w.advance(time.Second)
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
			w.advance(time.Second)
		}
		answer(ask(), "Wait longer")
		if w.provider.number("interrupt") != 0 || w.provider.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Error("to wait longer did something to the agent")
		}
		answer(ask(), "Interrupt its turn")
		if w.provider.number("interrupt") != 1 || w.provider.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Errorf("%d interrupts after the answer, want 1", w.provider.number("interrupt"))
		}
		answer(ask(), "Restart it")
		w.advance(10 * time.Second)
		if after := w.provider.lives()["gc-town-a"]; after == "" || after == before["gc-town-a"] {
			t.Errorf("after the answer to restart it runs as %q", after)
		}
	})
}

// attach connects or disconnects the terminals of an agent.
func (f *testProvider) attach(name string, terminals int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[name].attached = terminals
	f.emit(runtime.Event{Kind: runtime.EventAttached, Session: name, Attached: terminals})
}
