package k8s

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gascity/runtime"
)

// askPod calls ask with the client of the outpost in a session's pod. Its error is that of [Provider.at] or of ask.
func askPod[T any](p *Provider, op, name string, ask func(podClient) (T, error)) (answer T, err error) {
	w, err := p.at(op, name)
	if err != nil {
		return answer, err
	}
	return ask(w.client)
}

// inPod is askPod for a call without an answer.
func (p *Provider) inPod(op, name string, do func(podClient) error) error {
	_, err := askPod(p, op, name, func(c podClient) (struct{}, error) { return struct{}{}, do(c) })
	return err
}

// missingIsNil returns nil if err reports that the session does not exist, and err otherwise. It is
// for operations that succeed without a session.
func missingIsNil(err error) error {
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}

// Interrupt implements runtime.Runner.
func (p *Provider) Interrupt(name string) error {
	return missingIsNil(p.inPod("interrupt", name, func(c podClient) error { return c.Interrupt(name) }))
}

// IsRunning implements runtime.Inspector.
func (p *Provider) IsRunning(name string) bool {
	w, err := p.at("inspect", name)
	return err == nil && w.client.IsRunning(name)
}

// IsAttached implements runtime.Inspector.
func (p *Provider) IsAttached(name string) bool {
	w, err := p.at("inspect", name)
	return err == nil && w.client.IsAttached(name)
}

// ProcessAlive implements runtime.Inspector.
func (p *Provider) ProcessAlive(name string, processNames []string) bool {
	if len(processNames) == 0 {
		return true // no check is possible
	}
	w, err := p.at("inspect", name)
	return err == nil && w.client.ProcessAlive(name, processNames)
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

// GetLastActivity implements runtime.Inspector.
func (p *Provider) GetLastActivity(name string) (time.Time, error) {
	at, err := askPod(p, "inspect", name, func(c podClient) (time.Time, error) { return c.GetLastActivity(name) })
	return at, missingIsNil(err)
}

// Attach implements runtime.Input.
func (p *Provider) Attach(name string) error {
	return p.inPod("attach to", name, func(c podClient) error { return c.Attach(name) })
}

// Nudge implements runtime.Input.
func (p *Provider) Nudge(name string, content []runtime.ContentBlock) error {
	if len(content) == 0 {
		return nil
	}
	return p.inPod("nudge", name, func(c podClient) error { return c.Nudge(name, content) })
}

// SendKeys implements runtime.Input.
func (p *Provider) SendKeys(name string, keys ...string) error {
	return missingIsNil(p.inPod("send keys to", name, func(c podClient) error { return c.SendKeys(name, keys...) }))
}

// Peek implements runtime.Output.
func (p *Provider) Peek(name string, lines int) (string, error) {
	return askPod(p, "peek at", name, func(c podClient) (string, error) { return c.Peek(name, lines) })
}

// ClearScrollback implements runtime.Output.
func (p *Provider) ClearScrollback(name string) error {
	return missingIsNil(p.inPod("clear the scrollback of", name, func(c podClient) error { return c.ClearScrollback(name) }))
}

// SetMeta implements runtime.MetaStore.
func (p *Provider) SetMeta(name, key, value string) error {
	return p.inPod("set metadata of", name, func(c podClient) error { return c.SetMeta(name, key, value) })
}

// GetMeta implements runtime.MetaStore.
func (p *Provider) GetMeta(name, key string) (string, error) {
	return askPod(p, "read metadata of", name, func(c podClient) (string, error) { return c.GetMeta(name, key) })
}

// RemoveMeta implements runtime.MetaStore.
func (p *Provider) RemoveMeta(name, key string) error {
	return p.inPod("remove metadata of", name, func(c podClient) error { return c.RemoveMeta(name, key) })
}

// CopyTo implements runtime.Stager.
func (p *Provider) CopyTo(name, src, relDst string) error {
	return missingIsNil(p.inPod("copy to", name, func(c podClient) error { return c.CopyTo(name, src, relDst) }))
}

// RunLive implements runtime.Stager.
func (p *Provider) RunLive(name string, cfg runtime.Config) error {
	return p.inPod("apply session_live to", name, func(c podClient) error { return c.RunLive(name, cfg) })
}
