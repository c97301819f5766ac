package router

import (
	"errors"
	"fmt"
	"slices"

	"gascity/runtime"
)

// FindRuntimesBySessionID implements runtime.ProcessTableScanner over all backends that can scan. A
// process that several backends find is returned once. The result of a backend that has a record of
// the process is preferred.
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

// addRuntime adds r to found. If found has the same process, addRuntime keeps one entry and prefers
// the tracked one.
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

// TerminateRuntime implements runtime.ProcessTableScanner. It calls a backend that finds the
// process, preferably one that has a record of it.
func (p *Provider) TerminateRuntime(r runtime.LiveRuntime) error {
	var errs []error
	var at *Backend
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
