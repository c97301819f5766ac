package runtimetest

import (
	"context"
	"path/filepath"

	"gascity/runtime"
)

// cancelCases returns the cases about a Start whose context ends.
func cancelCases() []Case {
	return []Case{
		prove("start.ctx-done", "Start with a ctx that has ended returns the cause and does nothing.", func(t T, w *World) {
			s, marker := w.Prepare("a", Behaviour{}), filepath.Join(w.Folder(), "marker")
			s.Agent.Config.PreStart = []string{"touch " + shellQuote(marker)}
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			expect(t, context.Canceled, w.Provider.Start(ctx, s.Name, s.Agent.Config), "Start")
			if w.Exists(marker) {
				t.Errorf("pre_start ran")
			}
			s.nothingLeft()
		}),
		cancelCase("pre-start", "PreStart", func(cfg *runtime.Config, block string) { cfg.PreStart = []string{block} }),
		cancelCase("setup", "SessionSetup", func(cfg *runtime.Config, block string) { cfg.SessionSetup = []string{block} }),
		cancelCase("live", "SessionLive", func(cfg *runtime.Config, block string) { cfg.SessionLive = []string{block} }),
		prove("start.ctx-ready", "If ctx ends while Start waits for readiness, Start returns the cause and leaves no process and no session.", func(t T, w *World) {
			s := w.Prepare("a", Behaviour{Hang: true})
			ctx, cancel := context.WithCancel(w.ctx)
			defer cancel()
			ended := startAsync(ctx, w.Provider, s)
			s.Await(LedgerStart, 1)
			cancel()
			expect(t, context.Canceled, awaitResult(w, "Start after its ctx ended", ended), "Start")
			s.nothingLeft()
			s.startsAgain()
		}),
	}
}

// cancelCase returns a case that ends ctx while the command of a start step runs.
func cancelCase(id, step string, block func(cfg *runtime.Config, command string)) Case {
	sentence := "When ctx ends during " + step + ", Start returns its cause and leaves no process and no session."
	return prove("start.ctx-"+id, sentence, func(t T, w *World) {
		s, gate := w.Prepare("a", Behaviour{}), w.gate()
		block(&s.Agent.Config, gate.command)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		ended := startAsync(ctx, w.Provider, s)
		pid := gate.reached()
		cancel()
		expect(t, context.Canceled, awaitResult(w, "Start after its ctx ended", ended), "Start")
		if w.Alive(pid) {
			t.Errorf("the command (process %d) still runs", pid)
		}
		s.nothingLeft()
		s.startsAgain()
	})
}
