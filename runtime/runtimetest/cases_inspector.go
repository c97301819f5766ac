package runtimetest

import (
	"errors"
	"slices"
	"time"

	"gascity/runtime"
)

func inspectorCases() []Case {
	return append([]Case{
		{
			ID:       "running.missing",
			Sentence: "IsRunning and IsAttached of a missing session are false.",
			Run: func(t T, w *World) {
				w.Start("worker-10", Behaviour{})
				for _, name := range []string{w.Name("none"), w.Name("worker-1"), "", "not a name"} {
					if w.Provider.IsRunning(name) || w.Provider.IsAttached(name) {
						t.Errorf("%q, which does not exist, runs or is attached", name)
					}
				}
			},
		},
		{
			ID:       "running.exited",
			Sentence: "A session whose agent has exited does not run.",
			Run: func(_ T, w *World) {
				w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond}, fireAndForget).AwaitEnd()
			},
		},
		{
			ID:       "running.crash",
			Sentence: "An agent that is killed from outside is noticed.",
			Run: func(t T, w *World) {
				s := w.Start("a", Behaviour{})
				if err := w.place.Kill(s.PID()); err != nil {
					t.Fatalf("cannot kill the agent: %v", err)
				}
				s.AwaitEnd()
			},
		},
		{
			ID:       "attached.none",
			Sentence: "A session that nobody attached to is not attached.",
			Needs:    []Need{NeedAttachment},
			Run: func(t T, w *World) {
				if w.Provider.IsAttached(w.Start("a", Behaviour{}).Name) {
					t.Errorf("IsAttached = true without a terminal")
				}
			},
		},
		{
			ID:       "attach.missing",
			Sentence: "Attach to a missing session is ErrSessionNotFound.",
			Run: func(t T, w *World) {
				name, ended := w.Name("none"), make(chan error, 1)
				go func() { ended <- w.Provider.Attach(name) }()
				err := awaitResult(w, "the end of Attach to a missing session", ended)
				if !errors.Is(err, runtime.ErrAttachUnsupported) {
					expect(t, runtime.ErrSessionNotFound, err, "Attach")
				}
			},
		},
		{
			ID:       "attach.no-terminal",
			Sentence: "Without CanAttachTTY, Attach to a session is ErrAttachUnsupported.",
			Run: func(t T, w *World) {
				if w.Provider.Capabilities().CanAttachTTY {
					return
				}
				s, ended := w.Start("a", Behaviour{}), make(chan error, 1)
				go func() { ended <- w.Provider.Attach(s.Name) }()
				expect(t, runtime.ErrAttachUnsupported, awaitResult(w, "the end of Attach", ended), "Attach")
			},
		},
		{
			ID:       "activity.missing",
			Sentence: "GetLastActivity of a missing session is the zero time and no error.",
			Run: func(t T, w *World) {
				if at, err := w.Provider.GetLastActivity(w.Name("none")); !at.IsZero() || err != nil {
					t.Errorf("GetLastActivity = %v, %v, want the zero time and nil", at, err)
				}
			},
		},
		{
			ID:       "activity.output",
			Sentence: "Output of the agent moves GetLastActivity.",
			Needs:    []Need{NeedActivity},
			Run: func(t T, w *World) {
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
			},
		},
		{
			ID:       "capabilities.constant",
			Sentence: "Capabilities are constant for the life of the provider.",
			Run: func(t T, w *World) {
				before := w.Provider.Capabilities()
				s := w.Start("a", Behaviour{})
				during := w.Provider.Capabilities()
				s.Stop()
				if after := w.Provider.Capabilities(); before != during || before != after {
					t.Errorf("Capabilities went from %+v to %+v to %+v", before, during, after)
				}
			},
		},
	}, processCases()...)
}

func processCases() []Case {
	alive := func(w *World, want bool, name string, processes ...string) {
		w.t.Helper()
		if got := w.Provider.ProcessAlive(name, processes); got != want {
			w.t.Errorf("ProcessAlive(%s, %q) = %v, want %v", name, processes, got, want)
		}
	}
	return []Case{
		{
			ID:       "process.empty",
			Sentence: "ProcessAlive without names is true, also for a missing session.",
			Run: func(_ T, w *World) {
				alive(w, true, w.Start("a", Behaviour{}).Name)
				alive(w, true, w.Name("none"))
			},
		},
		{
			ID:       "process.match",
			Sentence: "ProcessAlive is true if a process of the session's tree has one of the names, and false for others.",
			Run: func(_ T, w *World) {
				s := w.Start("a", Behaviour{})
				s.PID()
				alive(w, true, s.Name, "no-such-agent", s.Agent.Process)
				alive(w, false, s.Name, "no-such-agent")
			},
		},
		{
			ID:       "process.exact",
			Sentence: "A process name matches as a whole, never as a part.",
			Run: func(_ T, w *World) {
				s := w.Start("a", Behaviour{})
				s.PID()
				name := s.Agent.Process
				alive(w, false, s.Name, name[:len(name)-1], name+"x", name[1:])
			},
		},
		{
			ID:       "process.renamed",
			Sentence: "A process that renamed itself is found by its new name.",
			Run: func(_ T, w *World) {
				s := w.Start("a", Behaviour{Rename: "2.1.29"})
				s.PID()
				w.Until("ProcessAlive by the new name", func() bool { return w.Provider.ProcessAlive(s.Name, []string{"2.1.29"}) })
			},
		},
		{
			ID:       "process.missing",
			Sentence: "ProcessAlive with names is false for a missing and for a stopped session.",
			Run: func(_ T, w *World) {
				s := w.Start("worker-10", Behaviour{})
				s.PID()
				alive(w, false, w.Name("worker-1"), s.Agent.Process)
				s.Stop()
				alive(w, false, s.Name, s.Agent.Process)
			},
		},
	}
}

func listCases() []Case {
	listed := func(w *World, prefix string, want ...string) {
		w.t.Helper()
		got, err := w.Provider.ListRunning(prefix)
		if err != nil || !slices.Equal(got, want) {
			w.t.Errorf("ListRunning(%q) = %q, %v, want %q", prefix, got, err, want)
		}
	}
	return []Case{
		{
			ID:       "list.prefix",
			Sentence: "ListRunning returns the names with the prefix, sorted.",
			Run: func(_ T, w *World) {
				ten, one, other := w.Start("worker-10", Behaviour{}), w.Start("worker-1", Behaviour{}), w.Start("mayor", Behaviour{})
				listed(w, w.Prefix(), other.Name, one.Name, ten.Name)
				listed(w, w.Prefix()+"worker", one.Name, ten.Name)
				listed(w, ten.Name, ten.Name)
			},
		},
		{
			ID:       "list.all",
			Sentence: "ListRunning of the empty prefix returns all.",
			Run: func(t T, w *World) {
				s := w.Start("a", Behaviour{})
				if got, err := w.Provider.ListRunning(""); err != nil || !slices.Contains(got, s.Name) {
					t.Errorf("ListRunning of everything = %q, %v, want %q in it", got, err, s.Name)
				}
			},
		},
		{
			ID:       "list.none",
			Sentence: "No match is an empty list and no error.",
			Run: func(t T, w *World) {
				w.Start("a", Behaviour{})
				for _, prefix := range []string{w.Prefix() + "b", "x" + w.Prefix(), "not a name"} {
					if got, err := w.Provider.ListRunning(prefix); len(got) != 0 || err != nil {
						t.Errorf("ListRunning(%q) = %q, %v, want none and nil", prefix, got, err)
					}
				}
			},
		},
		{
			ID:       "list.running",
			Sentence: "A stopped session and one whose agent has exited are not listed.",
			Run: func(_ T, w *World) {
				stopped := w.Start("stopped", Behaviour{})
				corpse := w.Start("corpse", Behaviour{Hang: true, ExitAfter: time.Millisecond}, fireAndForget)
				stopped.Stop()
				corpse.AwaitEnd()
				listed(w, w.Prefix())
			},
		},
	}
}
