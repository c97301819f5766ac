package runtimetest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"gascity/runtime"
)

// stopCases returns the cases about Stop.
func stopCases() []Case {
	return append([]Case{
		prove("stop.ends", "When Stop returns, the agent's process and the session do not exist any more.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{})
			s.PID()
			s.Stop()
			s.isGone()
		}),
		prove("stop.missing", "Stop of a session that does not exist returns nil.", func(t T, w *World) {
			expect(t, nil, w.Provider.Stop(w.Name("none")), "Stop of a missing session")
			expect(t, nil, w.Provider.Stop("not a name"), "Stop of an invalid name")
		}),
		prove("stop.twice", "Stop may be called twice.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{})
			s.Stop()
			s.Stop()
		}),
		prove("stop.concurrent", "Concurrent Stops of one session all return nil, and each returns only when the session is gone.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			pid := s.PID()
			var wait sync.WaitGroup
			for range 8 {
				wait.Go(func() {
					expect(t, nil, w.Provider.Stop(s.Name), "Stop")
					if w.Alive(pid) {
						t.Errorf("the agent lives after a Stop returned")
					}
				})
			}
			wait.Wait()
		}),
		stopTree("setsid", "a child in a session of its own that ignores signals", Behaviour{SpawnSetsid: true}),
		stopTree("daemon", "a re-parented process that ignores signals", Behaviour{SpawnDaemon: true}),
		stopTree("stubborn", "an agent that ignores SIGTERM and SIGHUP", Behaviour{IgnoreTerm: true}),
		prove("stop.exact", "Stop stops the session with exactly that name, and no session whose name only begins with it.", func(t T, w *World) {
			other := w.Start("worker-10", Behaviour{})
			pid := other.PID()
			expect(t, nil, w.Provider.Stop(w.Name("worker-1")), "Stop")
			if !w.Alive(pid) || !w.Provider.IsRunning(other.Name) {
				t.Errorf("Stop(worker-1) ended worker-10")
			}
		}),
		prove("stop.start", "After Stop the name can be used for a new session.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{})
			s.Stop()
			s.startsAgain()
		}),
		prove("stop.corpse", "Stop removes a session whose agent has exited.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond}, fireAndForget)
			s.AwaitEnd()
			s.Stop()
			_, err := w.Provider.Peek(s.Name, 0)
			expect(t, runtime.ErrSessionNotFound, err, "Peek after the Stop of a dead session")
		}),
	}, interruptCases()...)
}

// stopTree returns a case that stops an agent with processes that resist.
func stopTree(id, what string, b Behaviour) Case {
	return prove("stop."+id, "Stop stops every process of the session, also "+what+".", func(_ T, w *World) {
		s := w.Start("a", b)
		s.PID()
		if b.SpawnSetsid || b.SpawnDaemon {
			s.Await(LedgerSpawn, 1)
		}
		s.Stop()
		s.isGone()
	})
}

// isGone checks that nothing of the stopped session is left.
func (s *Session) isGone() {
	t, p := s.w.t, s.w.Provider
	t.Helper()
	for _, pid := range s.PIDs() {
		if s.w.Alive(pid) {
			t.Errorf("process %d runs after Stop", pid)
		}
	}
	if p.IsRunning(s.Name) {
		t.Errorf("IsRunning(%s) = true after Stop", s.Name)
	}
	if names, err := p.ListRunning(s.Name); err != nil || slices.Contains(names, s.Name) {
		t.Errorf("ListRunning = %q, %v after Stop", names, err)
	}
}

// interruptCases returns the cases about Interrupt.
func interruptCases() []Case {
	return []Case{
		prove("interrupt.missing", "Interrupt of a session that does not exist returns nil.", func(t T, w *World) {
			expect(t, nil, w.Provider.Interrupt(w.Name("none")), "Interrupt of a missing session")
		}),
		prove("interrupt.turn", "Interrupt ends the agent's turn, and the session continues.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{Turn: time.Hour})
			s.Nudge("a long task")
			s.AwaitPrompt("a long task")
			if err := w.Provider.Interrupt(s.Name); err != nil {
				w.t.Fatalf("Interrupt = %v, want nil", err)
			}
			s.Await(LedgerInterrupted, 1)
			s.Nudge("the next task")
			s.AwaitPrompt("the next task")
		}),
		prove("interrupt.exact", "Interrupt reaches only the session with exactly that name.", func(t T, w *World) {
			other := w.Start("worker-10", Behaviour{Turn: time.Hour})
			other.Nudge("a long task")
			other.AwaitPrompt("a long task")
			expect(t, nil, w.Provider.Interrupt(w.Name("worker-1")), "Interrupt")
			// The prompt waits or is refused, unless the turn was interrupted.
			if refused, ok := errors.AsType[*runtime.RefusedError](w.Provider.Nudge(other.Name, runtime.TextContent("the next task"))); ok && refused.Reason != runtime.RefusedBusy {
				t.Errorf("Nudge during a turn: %v", refused)
			}
			sent := time.Now()
			expect(t, nil, w.Provider.Interrupt(other.Name), "Interrupt")
			if cut := other.Await(LedgerInterrupted, 1)[0].Time; cut.Before(sent) {
				t.Errorf("Interrupt(worker-1) interrupted worker-10")
			}
		}),
	}
}
