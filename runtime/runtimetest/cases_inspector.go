package runtimetest

import (
	"errors"
	"slices"
	"time"

	"gascity/runtime"
)

// runningCases returns the cases about IsRunning.
func runningCases() []Case {
	return []Case{
		prove("running.missing", "IsRunning and IsAttached of a missing session return false.", func(t T, w *World) {
			w.Start("worker-10", Behaviour{})
			for _, name := range []string{w.Name("none"), w.Name("worker-1"), "", "not a name"} {
				if w.Provider.IsRunning(name) || w.Provider.IsAttached(name) {
					t.Errorf("%q, which does not exist, runs or is attached", name)
				}
			}
		}),
		prove("running.exited", "IsRunning returns false for a session whose agent has exited.", func(_ T, w *World) {
			w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond}, fireAndForget).AwaitEnd()
		}),
		prove("running.crash", "IsRunning returns false after another process killed the agent.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			if err := w.place.Kill(s.PID()); err != nil {
				t.Fatalf("cannot kill the agent: %v", err)
			}
			s.AwaitEnd()
		}),
	}
}

// attachCases returns the cases about IsAttached and Attach.
func attachCases() []Case {
	return []Case{
		prove("attached.none", "IsAttached returns false for a session without an attached client.", func(t T, w *World) {
			if w.Provider.IsAttached(w.Start("a", Behaviour{}).Name) {
				t.Errorf("IsAttached = true without a terminal")
			}
		}).needs(NeedAttachment),
		prove("attach.missing", "Attach to a missing session returns ErrSessionNotFound.", func(t T, w *World) {
			name, ended := w.Name("none"), make(chan error, 1)
			go func() { ended <- w.Provider.Attach(name) }()
			err := awaitResult(w, "the end of Attach to a missing session", ended)
			if !errors.Is(err, runtime.ErrAttachUnsupported) {
				expect(t, runtime.ErrSessionNotFound, err, "Attach")
			}
		}),
		prove("attach.options", "AttachTerminal to a missing session returns ErrSessionNotFound, with any options.", func(t T, w *World) {
			name, ended := w.Name("none"), make(chan error, 1)
			go func() {
				ended <- runtime.AttachTerminal(w.ctx, w.Provider, name, runtime.AttachOptions{ReadOnly: true})
			}()
			expect(t, runtime.ErrSessionNotFound, awaitResult(w, "the end of AttachTerminal", ended), "AttachTerminal")
		}).needs(NeedAttach),
		prove("attach.no-terminal", "Without CanAttachTTY, Attach to a session returns ErrAttachUnsupported.", func(t T, w *World) {
			if w.has(NeedTerminal) {
				return
			}
			s, ended := w.Start("a", Behaviour{}), make(chan error, 1)
			go func() { ended <- w.Provider.Attach(s.Name) }()
			expect(t, runtime.ErrAttachUnsupported, awaitResult(w, "the end of Attach", ended), "Attach")
		}),
	}
}

// activityCases returns the cases about GetLastActivity and Capabilities.
func activityCases() []Case {
	return []Case{
		prove("activity.missing", "GetLastActivity of a missing session returns the zero time and no error.", func(t T, w *World) {
			if at, err := w.Provider.GetLastActivity(w.Name("none")); !at.IsZero() || err != nil {
				t.Errorf("GetLastActivity = %v, %v, want the zero time and nil", at, err)
			}
		}),
		prove("activity.output", "After output of the agent, GetLastActivity returns a later time.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{})
			var before time.Time
			w.Until("the first activity", func() bool {
				var err error
				before, err = w.Provider.GetLastActivity(s.Name)
				return err == nil && !before.IsZero()
			})
			s.Nudge("say something")
			w.Until("later activity", func() bool {
				at, err := w.Provider.GetLastActivity(s.Name)
				return err == nil && at.After(before)
			})
		}).needs(NeedActivity),
		prove("capabilities.constant", "Capabilities returns the same value during the lifetime of the provider.", func(t T, w *World) {
			before := w.Provider.Capabilities()
			s := w.Start("a", Behaviour{})
			during := w.Provider.Capabilities()
			s.Stop()
			if after := w.Provider.Capabilities(); before != during || before != after {
				t.Errorf("Capabilities went from %+v to %+v to %+v", before, during, after)
			}
		}),
	}
}

// processCases returns the cases about ProcessAlive.
func processCases() []Case {
	alive := func(w *World, want bool, name string, processes ...string) {
		w.t.Helper()
		if got := w.Provider.ProcessAlive(name, processes); got != want {
			w.t.Errorf("ProcessAlive(%s, %q) = %v, want %v", name, processes, got, want)
		}
	}
	return []Case{
		prove("process.empty", "ProcessAlive without names returns true, also for a missing session.", func(_ T, w *World) {
			alive(w, true, w.Start("a", Behaviour{}).Name)
			alive(w, true, w.Name("none"))
		}),
		prove("process.match", "ProcessAlive returns true if a process of the session's process tree has one of the names, and false otherwise.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{})
			s.PID()
			alive(w, true, s.Name, "no-such-agent", s.Agent.Process)
			alive(w, false, s.Name, "no-such-agent")
		}),
		prove("process.exact", "ProcessAlive compares whole process names, never parts.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{})
			s.PID()
			name := s.Agent.Process
			alive(w, false, s.Name, name[:len(name)-1], name+"x", name[1:])
		}),
		prove("process.renamed", "ProcessAlive finds a process that renamed itself by its new name.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{Rename: "2.1.29"})
			s.PID()
			w.Until("ProcessAlive by the new name", func() bool { return w.Provider.ProcessAlive(s.Name, []string{"2.1.29"}) })
		}),
		prove("process.missing", "ProcessAlive with names returns false for a missing and for a stopped session.", func(_ T, w *World) {
			s := w.Start("worker-10", Behaviour{})
			s.PID()
			alive(w, false, w.Name("worker-1"), s.Agent.Process)
			s.Stop()
			alive(w, false, s.Name, s.Agent.Process)
		}),
	}
}

// listCases returns the cases about ListRunning.
func listCases() []Case {
	listed := func(w *World, prefix string, want ...string) {
		w.t.Helper()
		got, err := w.Provider.ListRunning(prefix)
		if err != nil || !slices.Equal(got, want) {
			w.t.Errorf("ListRunning(%q) = %q, %v, want %q", prefix, got, err, want)
		}
	}
	return []Case{
		prove("list.prefix", "ListRunning returns the names with the prefix, sorted.", func(_ T, w *World) {
			ten, one, other := w.Start("worker-10", Behaviour{}), w.Start("worker-1", Behaviour{}), w.Start("mayor", Behaviour{})
			listed(w, w.Prefix(), other.Name, one.Name, ten.Name)
			listed(w, w.Prefix()+"worker", one.Name, ten.Name)
			listed(w, ten.Name, ten.Name)
		}),
		prove("list.all", "ListRunning with the empty prefix returns all names.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			if got, err := w.Provider.ListRunning(""); err != nil || !slices.Contains(got, s.Name) {
				t.Errorf("ListRunning of everything = %q, %v, want %q in it", got, err, s.Name)
			}
		}),
		prove("list.none", "If no name matches, ListRunning returns an empty list and no error.", func(t T, w *World) {
			w.Start("a", Behaviour{})
			for _, prefix := range []string{w.Prefix() + "b", "x" + w.Prefix(), "not a name"} {
				if got, err := w.Provider.ListRunning(prefix); len(got) != 0 || err != nil {
					t.Errorf("ListRunning(%q) = %q, %v, want none and nil", prefix, got, err)
				}
			}
		}),
		prove("list.running", "ListRunning does not return a stopped session, nor a session whose agent has exited.", func(_ T, w *World) {
			stopped := w.Start("stopped", Behaviour{})
			corpse := w.Start("corpse", Behaviour{Hang: true, ExitAfter: time.Millisecond}, fireAndForget)
			stopped.Stop()
			corpse.AwaitEnd()
			listed(w, w.Prefix())
		}),
	}
}
