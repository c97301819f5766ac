package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"gascity/runtime"
)

// expect reports an error unless err matches want. If want is nil, err must be nil.
func expect(t T, want, err error, format string, args ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", fmt.Sprintf(format, args...), err, want)
	}
}

// nothingLeft checks that a failed start left nothing of the session.
func (s *Session) nothingLeft() {
	t, p := s.w.t, s.w.Provider
	t.Helper()
	if p.IsRunning(s.Name) {
		t.Errorf("IsRunning(%s) = true after its start failed", s.Name)
	}
	if names, err := p.ListRunning(s.Name); err != nil || slices.Contains(names, s.Name) {
		t.Errorf("ListRunning = %q, %v after the start failed", names, err)
	}
	_, err := p.GetMeta(s.Name, "key")
	expect(t, runtime.ErrSessionNotFound, err, "GetMeta after the start failed")
	for _, pid := range s.PIDs() {
		if s.w.Alive(pid) {
			t.Errorf("process %d runs after the start failed", pid)
		}
	}
}

// startsAgain checks that the name can be used for another start.
func (s *Session) startsAgain() {
	s.w.t.Helper()
	again := s.w.Agent(Behaviour{})
	if err := s.w.Provider.Start(s.w.ctx, s.Name, again.Config); err != nil {
		s.w.t.Errorf("Start with the same name afterwards = %v, want nil", err)
	}
}

// gate is a shell command that records its start and then waits until the world is removed.
type gate struct {
	w       *World
	command string
	pidFile string
}

// gate returns a command that runs until the test opens it, and writes its process id to a file.
func (w *World) gate() *gate {
	w.t.Helper()
	pidFile := filepath.Join(w.Folder(), "pid")
	quoted := shellQuote(pidFile)
	// The directory is removed with the world, so the loop ends even if the command is not killed.
	return &gate{w, "echo $$ > " + quoted + ".new; mv " + quoted + ".new " + quoted + "; while [ -e " + quoted + " ]; do sleep 0.05; done", pidFile}
}

// reached waits until the command runs and returns its process id.
func (g *gate) reached() (pid int) {
	g.w.t.Helper()
	g.w.Until("a start step is reached", func() bool {
		text, ok := g.w.ReadFile(g.pidFile)
		if ok {
			_, err := fmt.Sscan(text, &pid)
			ok = err == nil
		}
		return ok
	})
	return pid
}

// startAsync starts the session in a goroutine. The channel has room for the result, also if the
// caller puts it back.
func startAsync(ctx context.Context, p runtime.Provider, s *Session) chan error {
	ended := make(chan error, 1)
	go func() { ended <- p.Start(ctx, s.Name, s.Agent.Config) }()
	return ended
}

// awaitResult waits for the result of a call.
func awaitResult[V any](w *World, what string, ended <-chan V) V {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, w.patience)
	defer cancel()
	select {
	case v := <-ended:
		return v
	case <-ctx.Done():
		w.t.Fatalf("%s: not within %s", what, w.patience)
		panic("unreachable")
	}
}
