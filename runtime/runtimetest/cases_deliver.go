package runtimetest

import (
	"context"
	"time"

	"gascity/runtime"
)

// deliverCases returns the cases about Deliver: acceptance, missing sessions, other instances, refused
// texts.
func deliverCases() []Case {
	return []Case{
		prove("deliver.arrives", "A delivery to a ready agent is submitted, or unconfirmed if no signal shows its acceptance, and arrives byte for byte.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			s.delivers(t, runtime.Delivery{ID: "d1", Content: runtime.TextContent("first\nand second line")})
			s.consumed("first\nand second line")
		}).needs(NeedDeliver),
		prove("deliver.absent", "A delivery to a missing session is absent, without an error.", func(t T, w *World) {
			other := w.Start("worker-10", Behaviour{})
			outcome, err := runtime.Deliver(w.ctx, w.Provider, w.Name("worker-1"), runtime.Delivery{Content: runtime.TextContent("x")})
			if outcome.State != runtime.OutcomeAbsent || err != nil {
				t.Errorf("Deliver = %q, %v, want %q and nil", outcome.State, err, runtime.OutcomeAbsent)
			}
			other.Nudge("for ten")
			other.consumed("for ten")
		}).needs(NeedDeliver),
		prove("deliver.instance", "A delivery for another instance is absent with ErrStaleInstance, and no byte is sent.", func(t T, w *World) {
			s := w.Start("a", Behaviour{PrintEnv: true})
			outcome, err := runtime.Deliver(w.ctx, w.Provider, s.Name, runtime.Delivery{Instance: "another", Content: runtime.TextContent("stale")})
			expect(t, runtime.ErrStaleInstance, err, "Deliver to another instance")
			if outcome.State != runtime.OutcomeAbsent {
				t.Errorf("the outcome is %q, want %q", outcome.State, runtime.OutcomeAbsent)
			}
			s.delivers(t, runtime.Delivery{Instance: s.Environ()["GC_INSTANCE_TOKEN"], Content: runtime.TextContent("current")})
			s.consumed("current")
		}).needs(NeedDeliver),
		prove("deliver.refused", "Text that cannot arrive unchanged is refused with the reason content, without an error, and no byte is sent.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			outcome, err := runtime.Deliver(w.ctx, w.Provider, s.Name, runtime.Delivery{Content: runtime.TextContent("a\x1b[201~\rb")})
			if outcome.State != runtime.OutcomeRefused || outcome.Reason != runtime.RefusedContent || err != nil {
				t.Errorf("Deliver = %q (%s), %v, want %q (%s) and nil", outcome.State, outcome.Reason, err, runtime.OutcomeRefused, runtime.RefusedContent)
			}
			s.Nudge("alone")
			s.consumed("alone")
		}).needs(NeedDeliver),
	}
}

// deliverCareCases returns the cases about Deliver while a dialog is open, with a lost Enter, and
// after the agent's exit.
func deliverCareCases() []Case {
	return []Case{
		prove("deliver.dialog", "While a known dialog is open, a delivery is refused and no key is sent.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Dialog: true}, fireAndForget, withoutDialogs)
			s.awaitDialog()
			outcome, err := runtime.Deliver(w.ctx, w.Provider, s.Name, runtime.Delivery{Content: runtime.TextContent("x")})
			if outcome.State != runtime.OutcomeRefused || err != nil {
				t.Errorf("Deliver = %q (%s), %v, want %q and nil", outcome.State, outcome.Reason, err, runtime.OutcomeRefused)
			}
			if n := len(s.Recorded(LedgerDialog)) + len(s.Recorded(LedgerExit)); n > 0 || !w.Provider.IsRunning(s.Name) {
				t.Errorf("the dialog was answered")
			}
		}).needs(NeedDialog, NeedDeliver),
		prove("deliver.lost-enter", "If the agent loses the Enter key, the driver repeats the key and never the text.", func(t T, w *World) {
			s := w.Start("a", Behaviour{IgnoreFirstEnter: true})
			s.delivers(t, runtime.Delivery{Content: runtime.TextContent("only once")})
			s.AwaitPrompt("only once")
			s.delivers(t, runtime.Delivery{Content: runtime.TextContent("and then this")})
			s.consumed("only once", "and then this")
		}).needs(NeedTerminal, NeedDeliver),
		prove("deliver.exited", "A delivery to a session whose agent has exited is never submitted.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond}, fireAndForget)
			s.AwaitEnd()
			outcome, _ := runtime.Deliver(w.ctx, w.Provider, s.Name, runtime.Delivery{Content: runtime.TextContent("x")})
			if outcome.State == runtime.OutcomeSubmitted || outcome.State == runtime.OutcomeUnconfirmed {
				t.Errorf("the outcome is %q", outcome.State)
			}
		}).needs(NeedDeliver),
		prove("deliver.ctx", "A delivery whose ctx has ended sends nothing.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			outcome, err := runtime.Deliver(ctx, w.Provider, s.Name, runtime.Delivery{Content: runtime.TextContent("too late")})
			if outcome.State == runtime.OutcomeSubmitted || outcome.State != runtime.OutcomeRefused && err == nil {
				t.Errorf("Deliver = %q, %v, want an error", outcome.State, err)
			}
			s.Nudge("alone")
			s.consumed("alone")
		}).needs(NeedDeliver),
	}
}

// delivers checks that the prompt is delivered.
func (s *Session) delivers(t T, d runtime.Delivery) {
	t.Helper()
	outcome, err := runtime.Deliver(s.w.ctx, s.w.Provider, s.Name, d)
	if err != nil || outcome.State != runtime.OutcomeSubmitted && outcome.State != runtime.OutcomeUnconfirmed {
		t.Errorf("Deliver(%s) = %q (%s %s), %v, want it submitted", s.Name, outcome.State, outcome.Reason, outcome.Detail, err)
	}
}

func withoutDialogs(cfg *runtime.Config) { cfg.AcceptStartupDialogs = new(bool) }

// withDialogs sets that gc answers start-up dialogs of the agent.
func withDialogs(cfg *runtime.Config) {
	on := true
	cfg.AcceptStartupDialogs = &on
}
