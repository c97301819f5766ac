package k8s

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"gascity/runtime"
)

// callPod calls do with the client of the outpost in a session's pod. Its error is that of [Provider.at] or of do.
func (p *Provider) callPod(op, name string, do func(runtime.Provider) error) error {
	w, err := p.at(op, name)
	if err != nil {
		return err
	}
	return do(w.client)
}

// maxParallelQueries is the maximum number of concurrent queries to pods.
const maxParallelQueries = 32

// ListRunning implements runtime.Inspector.
func (p *Provider) ListRunning(prefix string) ([]string, error) {
	err := p.waitSynced(p.ctx)
	pods, viewErr := p.view.all()
	if err = errors.Join(err, viewErr); err != nil {
		return nil, &runtime.Error{Op: "list", Err: unknown(err)}
	}
	var mu sync.Mutex
	var names []string
	var failures []error
	var group errgroup.Group
	group.SetLimit(maxParallelQueries)
	for name, pod := range pods {
		if !strings.HasPrefix(name, prefix) || Judge(pod, nil).Phase != Running {
			continue
		}
		group.Go(func() error {
			found, err := p.connTo(name, pod).client.ListRunning(name)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failures = append(failures, err)
			}
			if slices.Contains(found, name) {
				names = append(names, name)
			}
			return nil
		})
	}
	_ = group.Wait() // errors are in failures
	slices.Sort(names)
	switch {
	case len(failures) > 0 && len(names) == 0:
		return nil, &runtime.Error{Op: "list", Err: unknown(errors.Join(failures...))}
	case len(failures) > 0:
		return names, &runtime.PartialListError{Errs: failures}
	}
	return names, nil
}
