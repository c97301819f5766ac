package k8s

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"gascity/runtime"
)

// Stop implements runtime.Runner. When it returns nil, the pod does not exist any more.
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

// stop deletes the session's current pod. If check is not nil and the pod runs, stop returns its
// error before it stops anything.
func (p *Provider) stop(ctx context.Context, name string, check func(*corev1.Pod) error) error {
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
		return nil // the pod belongs to another city
	}
	p.view.applyResponse(pod)
	if Judge(pod, nil).Phase == Running {
		if check != nil {
			if err := check(pod); err != nil {
				return fail(err)
			}
		}
		p.stopAgents(ctx, name, pod)
	}
	if err := p.removeWithRetry(ctx, pod); err != nil {
		return fail(err)
	}
	return fail(p.waitDeleted(ctx, name, pod))
}

// stopAgents asks the outpost to stop the agent, and waits for at most defaultQueryTimeout. The
// deletion of the pod stops the rest.
func (p *Provider) stopAgents(ctx context.Context, name string, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(ctx, defaultQueryTimeout)
	defer cancel()
	stopped := make(chan struct{})
	p.work.Go(func() {
		defer close(stopped)
		_ = p.connTo(name, pod).client.Stop(name) // the pod is deleted in any case
	})
	select {
	case <-stopped:
	case <-ctx.Done():
	}
}
