package shimdriver

import (
	"errors"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/runtime"
)

// FindRuntimesBySessionID implements runtime.ProcessTableScanner.
func (s *Sessions) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	states, listErr := s.fleet.Running(ctx)
	tracked := make(map[proc.ID]string, len(states))
	for _, state := range states {
		tracked[state.Root] = state.Name
	}
	found, err := s.scanner.Find(id, tracked)
	return found, errors.Join(err, listErr)
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (s *Sessions) TerminateRuntime(r runtime.LiveRuntime) error {
	return driver.TerminateRuntime(r, s.Stop)
}
