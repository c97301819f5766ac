package runtimetest

import (
	"slices"
	"time"

	"gascity/runtime"
)

// senseCases returns the cases about Sense.
func senseCases() []Case {
	return append([]Case{
		prove("sense.rest", "For an agent at its prompt, Sense reports ready or idle and not busy, with the instance and the time of the reading.", func(t T, w *World) {
			s := w.Start("a", Behaviour{PrintEnv: true})
			r := s.senses("ready or idle", runtime.ActivityReady, runtime.ActivityIdle)
			if r.Instance != s.Environ()["GC_INSTANCE_TOKEN"] || r.At.IsZero() || r.hasActivity(runtime.ActivityBusy) || r.Pending != nil {
				t.Errorf("the reading is %+v", r.Reading)
			}
		}).needs(NeedSense, NeedTerminal),
		prove("sense.busy", "During a turn, the reading of Sense has evidence that the agent is busy, and none that it is idle.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Turn: time.Hour})
			s.Nudge("a long task")
			s.AwaitPrompt("a long task")
			if r := s.senses("busy", runtime.ActivityBusy); r.hasActivity(runtime.ActivityIdle) {
				t.Errorf("the reading is %+v", r.Reading)
			}
		}).needs(NeedSense, NeedTerminal),
		prove("sense.waiting", "While a question is open, the reading of Sense has evidence that the agent waits, and the question that Pending returns.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			asked := s.raiseQuestion()
			r := s.senses("waiting", runtime.ActivityWaiting)
			if r.Pending == nil || r.Pending.RequestID != asked.RequestID || r.Pending.Prompt != asked.Prompt {
				t.Errorf("pending is %+v, want %+v", r.Pending, asked)
			}
		}).needs(NeedInteraction, NeedSense, NeedTerminal),
		prove("sense.missing", "Sense of a session that is missing, or whose agent has exited, returns ErrSessionNotFound.", func(t T, w *World) {
			_, err := runtime.Sense(w.ctx, w.Provider, w.Name("none"))
			expect(t, runtime.ErrSessionNotFound, err, "Sense of a missing session")
			s := w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond}, fireAndForget)
			s.AwaitEnd()
			_, err = runtime.Sense(w.ctx, w.Provider, s.Name)
			expect(t, runtime.ErrSessionNotFound, err, "Sense of an agent that has exited")
		}).needs(NeedSense),
	}, withdrawCases()...)
}

// withdrawCases returns the cases about Withdraw.
func withdrawCases() []Case {
	return []Case{
		prove("withdraw.taken", "If the agent has already accepted a prompt, Withdraw does not report it as withdrawn.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			d := runtime.Delivery{Content: runtime.TextContent("taken")}
			s.delivers(t, d)
			s.AwaitPrompt("taken")
			if ok, err := runtime.Withdraw(w.ctx, w.Provider, s.Name, d); ok || err != nil {
				t.Errorf("Withdraw = %v, %v, want false and nil", ok, err)
			}
			s.Nudge("and another")
			s.consumed("taken", "and another")
		}).needs(NeedWithdraw, NeedDeliver),
		prove("withdraw.stale", "Withdraw for another instance returns ErrStaleInstance, for a missing session ErrSessionNotFound.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			d := runtime.Delivery{Instance: "another", Content: runtime.TextContent("x")}
			ok, err := runtime.Withdraw(w.ctx, w.Provider, s.Name, d)
			expect(t, runtime.ErrStaleInstance, err, "Withdraw from another instance")
			_, err = runtime.Withdraw(w.ctx, w.Provider, w.Name("none"), d)
			expect(t, runtime.ErrSessionNotFound, err, "Withdraw from a missing session")
			if ok {
				t.Errorf("something was withdrawn")
			}
		}).needs(NeedWithdraw),
	}
}

// reading is a [runtime.Reading] with query methods.
type reading struct{ runtime.Reading }

func (r reading) hasActivity(activities ...runtime.Activity) bool {
	return slices.ContainsFunc(r.Evidence, func(e runtime.Evidence) bool { return slices.Contains(activities, e.Activity) })
}

// senses waits until a source reports one of the activities.
func (s *Session) senses(what string, activities ...runtime.Activity) reading {
	s.w.t.Helper()
	var r reading
	s.w.Until(s.Name+" is sensed to be "+what, func() bool {
		var err error
		r.Reading, err = runtime.Sense(s.w.ctx, s.w.Provider, s.Name)
		return err == nil && r.hasActivity(activities...)
	})
	return r
}
