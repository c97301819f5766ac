package runtimetest

import (
	"context"
	"slices"
	"time"

	"gascity/runtime"
)

// observeCases returns the cases about Observe of a running and of a missing session.
func observeCases() []Case {
	return []Case{
		prove("observe.alive", "Observe of a running session reports session and agent as alive, with instance token, process and times.", func(t T, w *World) {
			before := time.Now()
			s := w.Start("a", Behaviour{PrintEnv: true})
			token := s.Environ()["GC_INSTANCE_TOKEN"]
			obs := s.Observe()
			if obs.Session != runtime.Alive || obs.Agent != runtime.Alive || obs.Exit != nil {
				t.Errorf("session %s, agent %s, exit %v, want alive, alive and none", obs.Session, obs.Agent, obs.Exit)
			}
			if obs.InstanceToken != token {
				t.Errorf("the observed token is not the agent's")
			}
			if obs.PID != 0 && !w.Alive(obs.PID) {
				t.Errorf("the observed process %d does not run", obs.PID)
			}
			if obs.At.Before(before) || obs.StartedAt.Before(before.Add(-time.Second)) || obs.StartedAt.After(obs.At) {
				t.Errorf("looked at %v, started at %v, want both after %v", obs.At, obs.StartedAt, before)
			}
			if obs.Attached > 0 {
				t.Errorf("%d terminals are attached, want none", obs.Attached)
			}
		}).needs(NeedObserve),
		prove("observe.missing", "Observe reports a session that does not exist as dead, without an error.", func(t T, w *World) {
			w.Start("worker-10", Behaviour{})
			for _, name := range []string{w.Name("worker-1"), "not a name"} {
				obs, err := runtime.Observe(w.ctx, w.Provider, name)
				if err != nil || obs.Session != runtime.Dead || obs.Agent != runtime.Dead || obs.InstanceToken != "" {
					t.Errorf("Observe(%s) = session %s, agent %s, %v, want dead, dead and nil", name, obs.Session, obs.Agent, err)
				}
			}
		}).needs(NeedObserve),
	}
}

// observeEndCases returns the cases about Observe after the agent has exited, was killed or renamed
// itself.
func observeEndCases() []Case {
	return []Case{
		prove("observe.exited", "After the exit of the agent, Observe reports the agent as dead, with its exit code, and the session as alive.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond, ExitCode: 9}, fireAndForget)
			s.AwaitEnd()
			obs := s.Observe()
			if obs.Session != runtime.Alive || obs.Agent != runtime.Dead || obs.Exit == nil || obs.Exit.Code != 9 || obs.Exit.Signal != "" {
				t.Errorf("session %s, agent %s, exit %v, want alive, dead, code 9", obs.Session, obs.Agent, obs.Exit)
			}
		}).needs(NeedObserve),
		prove("observe.killed", "Observe reports an agent that was killed by a signal as dead, with the signal.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			if err := w.place.Kill(s.PID()); err != nil {
				t.Fatalf("cannot kill the agent: %v", err)
			}
			s.AwaitEnd()
			obs := s.Observe()
			if obs.Agent != runtime.Dead || obs.Exit == nil || obs.Exit.Signal != "killed" || obs.Exit.Code != -1 {
				t.Errorf("agent %s, exit %+v, want dead, signal killed, code -1", obs.Agent, obs.Exit)
			}
		}).needs(NeedObserve),
		prove("observe.renamed", "The agent is identified by its process, not by its name: an agent that renamed itself is alive.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Rename: "2.1.29"}, func(cfg *runtime.Config) { cfg.ProcessNames = []string{"2.1.29", "no-such-agent"} })
			s.PID()
			if obs := s.Observe(); obs.Agent != runtime.Alive {
				t.Errorf("agent %s, want alive", obs.Agent)
			}
		}).needs(NeedObserve),
		prove("observe.token", "The instance token is the same in every observation of one instance, and different for the next instance.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			first, second := s.Observe().InstanceToken, s.Observe().InstanceToken
			s.Stop()
			s.startsAgain()
			if third := s.Observe().InstanceToken; first == "" || first != second || first == third {
				t.Errorf("two looks at one instance agree: %v; its successor has the same token: %v", first == second, first == third)
			}
		}).needs(NeedObserve),
	}
}

// watchCases returns the cases about the events that every watch gets.
func watchCases() []Case {
	return []Case{
		prove("watch.resync", "The first event of Watch is a resync.", func(t T, w *World) {
			if e := awaitResult(w, "the first event", w.watch(w.ctx)); e.Kind != runtime.EventResync {
				t.Errorf("the first event is %q, want %q", e.Kind, runtime.EventResync)
			}
		}).needs(NeedWatch),
		prove("watch.life", "Every watch reports the start of a session, the exit of its agent and the end of the session.", func(t T, w *World) {
			watches := []<-chan runtime.Event{w.watch(w.ctx), w.watch(w.ctx)}
			s := w.Start("a", Behaviour{Hang: true, ExitAfter: 50 * time.Millisecond, ExitCode: 5}, fireAndForget)
			for _, events := range watches {
				w.awaitEvent(events, s.Name, runtime.EventStarted)
				if e := w.awaitEvent(events, s.Name, runtime.EventExited); e.Exit == nil || e.Exit.Code != 5 {
					t.Errorf("the exit event has %v, want code 5", e.Exit)
				}
			}
			s.AwaitEnd()
			s.Stop()
			for _, events := range watches {
				w.awaitEvent(events, s.Name, runtime.EventGone)
			}
		}).needs(NeedWatch),
		prove("watch.crash", "A crash of an agent is an event, and Observe then reports the agent as dead.", func(t T, w *World) {
			events, s := w.watch(w.ctx), w.Start("a", Behaviour{})
			if err := w.place.Kill(s.PID()); err != nil {
				t.Fatalf("cannot kill the agent: %v", err)
			}
			w.awaitEvent(events, s.Name, runtime.EventExited)
			if w.Provider.IsRunning(s.Name) {
				t.Errorf("IsRunning = true after the exit event")
			}
		}).needs(NeedWatch),
	}
}

// watchFlowCases returns the cases about the end of a watch and slow receivers.
func watchFlowCases() []Case {
	return []Case{
		prove("watch.output", "Output of an agent is an event.", func(_ T, w *World) {
			events, s := w.watch(w.ctx), w.Start("a", Behaviour{})
			w.awaitEvent(events, s.Name, runtime.EventStarted)
			s.Nudge("say something")
			w.awaitEvent(events, s.Name, runtime.EventOutput)
		}).needs(NeedWatch),
		prove("watch.closed", "The channel of a watch is closed when its ctx ends; other watches continue.", func(t T, w *World) {
			ctx, cancel := context.WithCancel(w.ctx)
			ending, remaining := w.watch(ctx), w.watch(w.ctx)
			cancel()
			ended := make(chan bool, 1)
			go func() {
				for range ending {
				}
				ended <- true
			}()
			awaitResult(w, "the end of a watch", ended)
			s := w.Start("a", Behaviour{})
			if e := w.awaitEvent(remaining, s.Name, runtime.EventStarted); e.Time.IsZero() {
				t.Errorf("the event has no time")
			}
		}).needs(NeedWatch),
		prove("watch.slow", "A receiver that is too slow loses events, and then gets a resync event.", func(t T, w *World) {
			events, s := w.watch(w.ctx), w.Start("a", Behaviour{})
			const fewest, most = 4, 40 // in between, as many as a slow driver has time for
			began, restarts := time.Now(), 0
			for ; restarts < fewest || restarts < most && time.Since(began) < w.patience; restarts++ {
				s.Stop()
				s.startsAgain()
			}
			last := w.Start("last", Behaviour{})
			kinds := w.collect(events, last.Name)
			seen := len(slices.DeleteFunc(slices.Clone(kinds), func(k runtime.EventKind) bool { return k != runtime.EventStarted }))
			resyncs := len(slices.DeleteFunc(kinds, func(k runtime.EventKind) bool { return k != runtime.EventResync }))
			if seen != restarts+2 && resyncs < 2 {
				t.Errorf("%d of %d starts were reported and %d resyncs, want all or a second resync", seen, restarts+2, resyncs)
			}
		}).needs(NeedWatch),
	}
}

// watch opens a watch that ends with the world at the latest.
func (w *World) watch(ctx context.Context) <-chan runtime.Event {
	w.t.Helper()
	events, err := runtime.Watch(ctx, w.Provider)
	if err != nil {
		w.t.Fatalf("Watch = %v, want nil", err)
	}
	return events
}

// awaitEvent reads events until one has that kind and session.
func (w *World) awaitEvent(events <-chan runtime.Event, session string, kind runtime.EventKind) runtime.Event {
	w.t.Helper()
	for {
		e := awaitResult(w, "event "+string(kind)+" of "+session, events)
		if e == (runtime.Event{}) {
			w.t.Fatalf("the watch ended before event %s of %s", kind, session)
		}
		if e.Kind == kind && e.Session == session {
			return e
		}
	}
}

// collect reads events until the session's start is reported. It also stops after a resync when no
// further event follows for a moment, because the start may be a lost event.
func (w *World) collect(events <-chan runtime.Event, last string) []runtime.EventKind {
	w.t.Helper()
	var kinds []runtime.EventKind
	resyncs := 0
	for {
		e := awaitResult(w, "the start of "+last+" or a resync", events)
		kinds = append(kinds, e.Kind)
		if e.Kind == runtime.EventResync {
			resyncs++
		}
		if e.Kind == runtime.EventStarted && e.Session == last || resyncs > 1 {
			return kinds
		}
	}
}
