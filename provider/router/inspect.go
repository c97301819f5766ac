package router

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"gascity/runtime"
)

// IsRunning implements runtime.Inspector.
func (p *Provider) IsRunning(name string) bool {
	ctx, cancel := p.context()
	defer cancel()
	return p.find(ctx, name).state == running
}

// ListRunning implements runtime.Inspector. It returns the names of all backends that answered. If
// a backend did not answer, the error is a [runtime.PartialListError] that names it.
func (p *Provider) ListRunning(prefix string) ([]string, error) {
	ctx, cancel := p.context()
	defer cancel()
	lists, errs := make([][]string, len(p.backends)), make([]error, len(p.backends))
	var queries sync.WaitGroup
	for i, b := range p.backends {
		queries.Go(func() {
			lists[i], errs[i] = query(ctx, p, b, func() ([]string, error) { return b.Provider.ListRunning(prefix) })
		})
	}
	queries.Wait()
	unanswered := 0
	var missing []error
	for i, err := range errs {
		if err == nil {
			continue
		}
		if _, partial := errors.AsType[*runtime.PartialListError](err); !partial {
			unanswered++
		}
		missing = append(missing, p.backends[i].wrap(unwrapped(err)))
	}
	names := slices.Concat(lists...)
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(missing) == 0:
		return names, nil
	case unanswered == len(p.backends):
		return nil, &runtime.Error{Op: "list", Err: fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, errors.Join(missing...))}
	}
	return names, &runtime.PartialListError{Errs: missing}
}

// unwrapped removes the name of the backend from an error: it returns the error inside an [Error], and any other error
// unchanged. The caller adds the name again.
func unwrapped(err error) error {
	if named, ok := err.(*Error); ok { //nolint:errorlint // only the outermost
		return named.Err
	}
	return err
}
