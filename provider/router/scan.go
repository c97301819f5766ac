package router

import (
	"errors"
	"fmt"
	"slices"

	"gascity/runtime"
)

// FindRuntimesBySessionID implements runtime.ProcessTableScanner over
// all backends that can scan. A process that several of them see is returned
// once, by the one that has a record of it.
func (p *Provider) FindRuntimesBySessionID(id string) ([]runtime.LiveRuntime, error) {
	var found []runtime.LiveRuntime
	var errs []error
	scanners := 0
	for _, b := range p.backends {
		if b.Provider == nil {
			errs = append(errs, b.unavailable(b.Err))
			continue
		}
		some, err := runtime.FindRuntimesBySessionID(b.Provider, id)
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		scanners++
		errs = append(errs, b.wrap(err))
		for _, r := range some {
			found = addRuntime(found, r)
		}
	}
	if scanners == 0 {
		return nil, errors.Join(append(errs, fmt.Errorf("cannot scan for agent processes: %w", errors.ErrUnsupported))...)
	}
	return found, errors.Join(errs...)
}

// addRuntime adds a process that is not among the found, or replaces the sight of
// somebody who does not know it.
func addRuntime(found []runtime.LiveRuntime, r runtime.LiveRuntime) []runtime.LiveRuntime {
	at := slices.IndexFunc(found, func(x runtime.LiveRuntime) bool {
		return x.PID == r.PID && x.SessionID == r.SessionID && x.Epoch == r.Epoch && x.City == r.City && (!x.IsTracked || !r.IsTracked)
	})
	if at < 0 {
		return append(found, r)
	}
	if r.IsTracked {
		found[at] = r
	}
	return found
}

// TerminateRuntime implements runtime.ProcessTableScanner: at the
// backend that sees the process, the one first that has it in its books.
func (p *Provider) TerminateRuntime(r runtime.LiveRuntime) error {
	var errs []error
	var at *backend
	for _, b := range p.backends {
		if b.Provider == nil {
			errs = append(errs, b.unavailable(b.Err))
			continue
		}
		some, err := runtime.FindRuntimesBySessionID(b.Provider, r.SessionID)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			errs = append(errs, b.wrap(err))
		}
		for _, x := range some {
			if x.PID == r.PID && x.ProviderName == r.ProviderName && (at == nil || x.IsTracked) {
				at = b
			}
		}
	}
	if at != nil {
		return at.wrap(runtime.TerminateRuntime(at.Provider, r))
	}
	return errors.Join(errs...)
}
