package tmux

import (
	"errors"

	"gascity/internal/proc/envscan"
	"gascity/internal/tmux/server"
	"gascity/runtime"
)

// FindRuntimesBySessionID implements runtime.ProcessTableScanner. A pid that the server lists is valid, because the
// system reuses a pid only after the server has collected the process.
func (p *Provider) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	ctx, cancel := bounded()
	defer cancel()
	list, _, listErr := p.server.List(ctx)
	if server.Absent(listErr) {
		listErr = nil
	}
	tracked := map[int]string{}
	for _, s := range list {
		if !s.Dead {
			tracked[s.PID] = s.Name
		}
	}
	found, err := envscan.Find(id, tracked)
	return found, errors.Join(err, listErr)
}

// TerminateRuntime implements runtime.ProcessTableScanner.
func (p *Provider) TerminateRuntime(r runtime.LiveRuntime) error {
	ctx, cancel := bounded()
	defer cancel()
	if r.IsTracked {
		return p.Stop(r.ProviderName)
	}
	return envscan.Terminate(ctx, r)
}
