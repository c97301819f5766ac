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
	w, err := p.at("interrupt", name)
	if err != nil {
		return missingIsNil(err)
	}
	return w.client.Interrupt(name)
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
	w, err := p.at("inspect", name)
	if err != nil {
		return time.Time{}, missingIsNil(err)
	}
	return w.client.GetLastActivity(name)
}

// Attach implements runtime.Input.
func (p *Provider) Attach(name string) error {
	w, err := p.at("attach to", name)
	if err != nil {
		return err
	}
	return w.client.Attach(name)
}

// Nudge implements runtime.Input.
func (p *Provider) Nudge(name string, content []runtime.ContentBlock) error {
	if len(content) == 0 {
		return nil
	}
	w, err := p.at("nudge", name)
	if err != nil {
		return err
	}
	return w.client.Nudge(name, content)
}

// SendKeys implements runtime.Input.
func (p *Provider) SendKeys(name string, keys ...string) error {
	w, err := p.at("send keys to", name)
	if err != nil {
		return missingIsNil(err)
	}
	return w.client.SendKeys(name, keys...)
}

// Peek implements runtime.Output.
func (p *Provider) Peek(name string, lines int) (string, error) {
	w, err := p.at("peek at", name)
	if err != nil {
		return "", err
	}
	return w.client.Peek(name, lines)
}

// ClearScrollback implements runtime.Output.
func (p *Provider) ClearScrollback(name string) error {
	w, err := p.at("clear the scrollback of", name)
	if err != nil {
		return missingIsNil(err)
	}
	return w.client.ClearScrollback(name)
}

// SetMeta implements runtime.MetaStore.
func (p *Provider) SetMeta(name, key, value string) error {
	w, err := p.at("set metadata of", name)
	if err != nil {
		return err
	}
	return w.client.SetMeta(name, key, value)
}

// GetMeta implements runtime.MetaStore.
func (p *Provider) GetMeta(name, key string) (string, error) {
	w, err := p.at("read metadata of", name)
	if err != nil {
		return "", err
	}
	return w.client.GetMeta(name, key)
}

// RemoveMeta implements runtime.MetaStore.
func (p *Provider) RemoveMeta(name, key string) error {
	w, err := p.at("remove metadata of", name)
	if err != nil {
		return err
	}
	return w.client.RemoveMeta(name, key)
}

// CopyTo implements runtime.Stager.
func (p *Provider) CopyTo(name, src, relDst string) error {
	w, err := p.at("copy to", name)
	if err != nil {
		return missingIsNil(err)
	}
	return w.client.CopyTo(name, src, relDst)
}

// RunLive implements runtime.Stager.
func (p *Provider) RunLive(name string, cfg runtime.Config) error {
	w, err := p.at("apply session_live to", name)
	if err != nil {
		return err
	}
	return w.client.RunLive(name, cfg)
}
