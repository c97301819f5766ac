package router

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity/runtime"
)

// IsRunning keeps the contract of runtime.Inspector.
func (p *Provider) IsRunning(name string) bool {
	ctx, cancel := p.context()
	defer cancel()
	return p.find(ctx, name).state == running
}

// IsAttached keeps the contract of runtime.Inspector.
func (p *Provider) IsAttached(name string) bool {
	b, err := p.at("look at", name)
	return err == nil && b.Provider.IsAttached(name)
}

// ProcessAlive keeps the contract of runtime.Inspector.
func (p *Provider) ProcessAlive(name string, processNames []string) bool {
	if len(processNames) == 0 {
		return true
	}
	b, err := p.at("look at", name)
	return err == nil && b.Provider.ProcessAlive(name, processNames)
}

// GetLastActivity implements runtime.Inspector.
func (p *Provider) GetLastActivity(name string) (time.Time, error) {
	b, err := p.at("look at", name)
	if runtime.IsSessionGone(err) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	at, err := b.Provider.GetLastActivity(name)
	return at, b.wrap(err)
}

// ListRunning implements runtime.Inspector: the names of all backends
// that answered, and a [runtime.PartialListError] that names the others.
func (p *Provider) ListRunning(prefix string) ([]string, error) {
	ctx, cancel := p.context()
	defer cancel()
	lists, errs := make([][]string, len(p.backends)), make([]error, len(p.backends))
	var asked sync.WaitGroup
	for i, b := range p.backends {
		asked.Go(func() {
			lists[i], errs[i] = query(ctx, p, b, func() ([]string, error) { return b.Provider.ListRunning(prefix) })
		})
	}
	asked.Wait()
	silent := 0
	var missing []error
	for i, err := range errs {
		if err == nil {
			continue
		}
		if _, partial := errors.AsType[*runtime.PartialListError](err); !partial {
			silent++
		}
		missing = append(missing, p.backends[i].wrap(unwrapped(err)))
	}
	names := slices.Concat(lists...)
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(missing) == 0:
		return names, nil
	case silent == len(p.backends):
		return nil, &runtime.Error{Op: "list", Err: fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, errors.Join(missing...))}
	}
	return names, &runtime.PartialListError{Errs: missing}
}

// unwrapped takes the name of the backend off an error that has it already.
func unwrapped(err error) error {
	if named, ok := err.(*Error); ok { //nolint:errorlint // only the outermost
		return named.Err
	}
	return err
}
