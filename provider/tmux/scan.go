package tmux

import (
	"errors"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/tmuxserver"
	"gascity/runtime"
)

// FindRuntimesBySessionID implements runtime.ProcessTableScanner.
func (p *Provider) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	list, _, listErr := p.server.List(ctx)
	if tmuxserver.IsAbsent(listErr) {
		listErr = nil
	}
	tracked := map[proc.ID]string{}
	for _, s := range list {
		if !s.Dead {
			tracked[tmuxserver.IdentifyProcess(s.PID)] = s.Name
		}
	}
	found, err := p.scanner.Find(id, tracked)
	return found, errors.Join(err, listErr)
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (p *Provider) TerminateRuntime(r runtime.LiveRuntime) error {
	return driver.TerminateRuntime(r, p.Stop)
}
