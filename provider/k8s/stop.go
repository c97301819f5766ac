package k8s

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"gascity/runtime"
)

// Stop implements runtime.Runner: the pod is gone when it returns nil.
func (p *Provider) Stop(name string) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.Limits.Stop)
	defer cancel()
	return p.stop(ctx, name, nil)
}

// StopInstance implements runtime.Fencer.
func (p *Provider) StopInstance(ctx context.Context, name, token string) error {
	return p.stop(ctx, name, func(pod *corev1.Pod) error {
		obs, err := p.observeIn(ctx, name, pod)
		switch {
		case err != nil:
			return err
		case obs.InstanceToken != token:
			return runtime.ErrStaleInstance
		}
		return nil
	})
}

// InterruptInstance implements runtime.Fencer.
func (p *Provider) InterruptInstance(ctx context.Context, name, token string) error {
	w, err := p.atContext(ctx, "interrupt", name)
	if runtime.IsSessionGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.client.InterruptInstance(ctx, name, token)
}

// stop ends the pod that is there now, if meant agrees.
func (p *Provider) stop(ctx context.Context, name string, meant func(*corev1.Pod) error) error {
	fail := func(err error) error {
		if err == nil {
			return nil
		}
		return &runtime.Error{Op: "stop", Session: name, Err: err}
	}
	if runtime.ValidateName(name) != nil {
		return nil //nolint:nilerr // there is no such session
	}
	if err := p.waitSynced(ctx); err != nil {
		return fail(err)
	}
	pod, err := p.cluster.get(ctx, podName(p.cfg.ID, name))
	if errors.Is(err, errNotThere) {
		return nil
	}
	if err != nil {
		return fail(err)
	}
	if rawName(pod) != name || pod.Labels[labelCity] != p.cfg.ID {
		return nil // somebody else's
	}
	p.view.applyResponse(pod)
	if Judge(pod, nil).Phase == Running {
		if meant != nil {
			if err := meant(pod); err != nil {
				return fail(err)
			}
		}
		p.stopAgents(ctx, name, pod)
	}
	if err := p.insistRemove(ctx, pod); err != nil {
		return fail(err)
	}
	return fail(p.waitDeleted(ctx, name, pod))
}

// stopAgents lets the outpost end the agent in its own way first. What it does not end goes
// with the pod.
func (p *Provider) stopAgents(ctx context.Context, name string, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(ctx, defaultAsk)
	defer cancel()
	ended := make(chan struct{})
	p.work.Go(func() {
		defer close(ended)
		_ = p.connTo(name, pod).client.Stop(name) // see above
	})
	select {
	case <-ended:
	case <-ctx.Done():
	}
}
