package runtimetest

import (
	"slices"
	"time"

	"gascity/runtime"
)

// fenceCases returns the cases about StopInstance and InterruptInstance.
func fenceCases() []Case {
	return []Case{
		prove("fence.stop", "StopInstance stops the instance with that token.", func(t T, w *World) {
			s := w.Start("a", Behaviour{PrintEnv: true})
			expect(t, nil, runtime.StopInstance(w.ctx, w.Provider, s.Name, s.Environ()["GC_INSTANCE_TOKEN"]), "StopInstance")
			s.isGone()
		}).needs(NeedFence),
		prove("fence.stop-stale", "StopInstance with the token of an earlier instance returns ErrStaleInstance, and the current instance continues to run.", func(t T, w *World) {
			s := w.Start("a", Behaviour{PrintEnv: true})
			old := s.Environ()["GC_INSTANCE_TOKEN"]
			s.Stop()
			s = w.Start("a", Behaviour{})
			pid := s.PID()
			for _, token := range []string{old, ""} {
				expect(t, runtime.ErrStaleInstance, runtime.StopInstance(w.ctx, w.Provider, s.Name, token), "StopInstance")
			}
			if !w.Alive(pid) || !w.Provider.IsRunning(s.Name) {
				t.Errorf("the present instance was stopped")
			}
		}).needs(NeedFence),
		prove("fence.stop-missing", "StopInstance of a missing session returns nil.", func(t T, w *World) {
			expect(t, nil, runtime.StopInstance(w.ctx, w.Provider, w.Name("none"), "token"), "StopInstance")
		}).needs(NeedFence),
		prove("fence.interrupt", "InterruptInstance interrupts the instance with that token and no other.", func(t T, w *World) {
			s := w.Start("a", Behaviour{PrintEnv: true, Turn: time.Hour})
			s.Nudge("a long task")
			s.AwaitPrompt("a long task")
			expect(t, runtime.ErrStaleInstance, runtime.InterruptInstance(w.ctx, w.Provider, s.Name, "another"), "InterruptInstance")
			expect(t, nil, runtime.InterruptInstance(w.ctx, w.Provider, s.Name, s.Environ()["GC_INSTANCE_TOKEN"]), "InterruptInstance")
			s.Await(LedgerInterrupted, 1)
			s.Nudge("next")
			s.AwaitPrompt("next")
			if n := len(s.Recorded(LedgerInterrupted)); n != 1 {
				t.Errorf("the agent was interrupted %d times, want once", n)
			}
		}).needs(NeedFence),
	}
}

// restartCases returns the cases about a provider that is opened again over the same state.
func restartCases() []Case {
	return append([]Case{
		prove("restart.adopts", "A provider that is opened over the same state finds the sessions again: they run, accept prompts and have their metadata.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			s.setMeta("key", "value")
			w.Provider = w.Reopen()
			if names, err := w.Provider.ListRunning(w.Prefix()); err != nil || !slices.Equal(names, []string{s.Name}) {
				t.Errorf("ListRunning = %q, %v, want %q", names, err, s.Name)
			}
			s.wantMeta(t, "key", "value")
			s.Nudge("after the restart")
			s.consumed("after the restart")
			s.AwaitOutput("after the restart")
			if n := len(s.Recorded(LedgerStart)); n != 1 {
				t.Errorf("the agent was started %d times, want once", n)
			}
		}).needs(NeedReopen),
		prove("restart.exists", "After a restart, Start with the name of a live session returns ErrSessionExists.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			expect(t, runtime.ErrSessionExists, w.Reopen().Start(w.ctx, s.Name, s.Agent.Config), "Start after a restart")
		}).needs(NeedReopen),
		prove("restart.stops", "After a restart, Stop stops the session for every provider over the same state.", func(t T, w *World) {
			s := w.Start("a", Behaviour{SpawnSetsid: true})
			s.Await(LedgerSpawn, 1)
			expect(t, nil, w.Reopen().Stop(s.Name), "Stop after a restart")
			s.isGone()
		}).needs(NeedReopen),
		prove("restart.token", "After a restart a session has the same instance token.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			before := s.Observe().InstanceToken
			w.Provider = w.Reopen()
			if after := s.Observe().InstanceToken; after != before || after == "" {
				t.Errorf("the token changed with the restart")
			}
		}).needs(NeedObserve, NeedReopen),
		prove("restart.exited", "After a restart, an agent that exited in the meantime is not running, and its output can be read.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond, ExitCode: 1, LastWords: "my last words"}, fireAndForget)
			s.AwaitEnd()
			w.Provider = w.Reopen()
			s.AwaitEnd()
			s.AwaitOutput("my last words")
		}).needs(NeedReopen),
	}, recoverCases()...)
}

// recoverCases returns the cases about Recover.
func recoverCases() []Case {
	return []Case{
		prove("recover.adopts", "Recover takes over a session by the handle of an earlier observation. A second call has no error.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			handle := s.Observe().Handle
			w.Provider = w.Reopen()
			for range 2 {
				expect(t, nil, runtime.Recover(w.ctx, w.Provider, s.Name, handle), "Recover")
			}
			s.Nudge("adopted")
			s.consumed("adopted")
		}).needs(NeedRecover, NeedObserve, NeedReopen),
		prove("recover.stale", "Recover with the handle of another instance returns ErrStaleInstance.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			handle := s.Observe().Handle
			s.Stop()
			s.startsAgain()
			expect(t, runtime.ErrStaleInstance, runtime.Recover(w.ctx, w.Reopen(), s.Name, handle), "Recover")
		}).needs(NeedRecover, NeedObserve, NeedReopen),
		prove("recover.missing", "Recover of a session that is gone returns ErrSessionNotFound.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			handle := s.Observe().Handle
			s.Stop()
			expect(t, runtime.ErrSessionNotFound, runtime.Recover(w.ctx, w.Reopen(), s.Name, handle), "Recover")
		}).needs(NeedRecover, NeedObserve, NeedReopen),
	}
}
