package k8s

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gascity/internal/retry"
	"gascity/runtime"
)

// Start implements runtime.Runner. It creates the pod, copies gc into it and starts the agent
// there. An error that cannot disappear ends the start at once, with the message of the cluster.
// Each phase has a limit. If the start fails, Start deletes the pod.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	fail := func(err error) error {
		if err == nil {
			return nil
		}
		if own, ok := err.(*runtime.Error); ok { //nolint:errorlint // only the outermost
			return own
		}
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	if err := runtime.ValidateName(name); err != nil {
		return fail(err)
	}
	if !p.claim(name) {
		return fail(runtime.ErrSessionExists)
	}
	defer p.release(name)
	if err := p.waitSynced(ctx); err != nil {
		return fail(err)
	}
	if err := p.clear(ctx, name); err != nil {
		return fail(err)
	}
	cfg.WorkDir = workDir(cfg)
	cfg = runtime.SyncWorkDirEnv(cfg)
	pod, err := manifest(podSpec{city: p.cfg.ID, session: name, place: p.cfg.Place, try: rand.Text(), settings: p.cfg.Settings.With(cfg.Env), cfg: cfg})
	if err != nil {
		return fail(err)
	}
	if pod, err = p.create(ctx, pod); err != nil {
		return fail(err)
	}
	p.view.applyResponse(pod)
	s := &starting{Provider: p, name: name, uid: pod.UID}
	if err = s.startAgent(ctx, cfg); err != nil {
		err = s.withWarnings(pod, err)
		s.deletePod(ctx, pod)
	}
	return fail(err)
}

// claim records a running start of the session in this process. It returns false if one runs
// already.
func (p *Provider) claim(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, busy := p.starts[name]; busy {
		return false
	}
	p.starts[name] = struct{}{}
	delete(p.disrupted, name)
	return true
}

func (p *Provider) release(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.starts, name)
}

// clear ensures that the session has no pod. It deletes a pod without a running agent, by its UID.
// It returns an error if the agent may run.
func (p *Provider) clear(ctx context.Context, name string) error {
	pod, err := p.view.pod(name)
	if err != nil || pod == nil {
		return err
	}
	switch c := Judge(pod, nil); c.Phase {
	case Leaving:
		runtime.TellProgress(ctx, "its previous pod is still being deleted")
		return p.waitDeleted(ctx, name, pod)
	case Ended:
	case Running:
		obs, err := p.observeIn(ctx, name, pod)
		switch {
		case err != nil:
			return err
		case obs.Agent == runtime.Alive:
			return runtime.ErrSessionExists
		case obs.Agent == runtime.Unknown:
			return runtime.ErrSessionInitializing
		}
	default:
		if !p.abandoned(name, pod) {
			return errors.Join(fmt.Errorf("%w: its pod is %s", runtime.ErrSessionInitializing, c.Phase), c.Err)
		}
	}
	if err := p.cluster.remove(ctx, pod, 0); err != nil {
		return err
	}
	return p.waitDeleted(ctx, name, pod)
}

// waitDeleted waits until the watch has reported that the pod does not exist any more.
func (p *Provider) waitDeleted(ctx context.Context, name string, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Limits.Stop)
	defer cancel()
	err := p.view.wait(ctx, func() bool {
		now, err := p.view.pod(name)
		return err == nil && (now == nil || now.UID != pod.UID)
	})
	if err == nil {
		return nil
	}
	now, viewErr := p.view.pod(name)
	if now != nil {
		viewErr = errors.Join(viewErr, Judge(now, nil).Err)
	}
	return errors.Join(fmt.Errorf("pod %s still exists: %w", pod.Name, err), viewErr)
}

// create creates the pod. A request without a clear response may have created it, so create tries
// again with growing pauses, and recognizes its own pod by the annotation of this start. If ctx
// ends, it deletes the pod if that exists.
func (p *Provider) create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Limits.Prepare)
	defer cancel()
	delay, unsure := retry.New(250*time.Millisecond, 10*time.Second), false
	for {
		made, err := p.cluster.create(ctx, pod)
		if errors.Is(err, errTaken) {
			made, err = p.resolveConflict(ctx, pod)
		}
		if err == nil {
			return made, nil
		}
		if !isIndeterminate(err) && ctx.Err() == nil {
			if unsure { // an earlier try may have created the pod, which then counts against the quota
				if made, getErr := p.findCreated(ctx, pod); getErr == nil && made != nil {
					return made, nil
				}
			}
			return nil, err
		}
		unsure = true
		p.cfg.Logger.Warn("cannot create a pod; trying again", "pod", pod.Name, "error", err)
		runtime.TellProgress(ctx, "cannot create its pod; trying again: "+err.Error())
		if ended := waitBeforeRetry(ctx, delay, err); ended != nil {
			p.revoke(pod)
			return nil, errors.Join(ended, err)
		}
	}
}

// resolveConflict handles the error that a pod with this name exists. It returns the pod if this
// start created it, and otherwise an error.
func (p *Provider) resolveConflict(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	there, err := p.cluster.get(ctx, pod.Name)
	switch {
	case errors.Is(err, errNotThere):
		return nil, fmt.Errorf("%w: pod %s was deleted during the start", runtime.ErrRuntimeUnavailable, pod.Name)
	case err != nil:
		return nil, err
	case there.Annotations[annotationTry] == pod.Annotations[annotationTry]:
		return there, nil
	case there.Labels[labelCity] != pod.Labels[labelCity] || rawName(there) != rawName(pod):
		return nil, fmt.Errorf("pod %s belongs to another city: %w", pod.Name, errTaken)
	}
	return nil, runtime.ErrSessionInitializing // another process starts the session
}

// findCreated returns the pod if this start created it. It returns nil if the pod certainly does
// not exist.
func (p *Provider) findCreated(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	there, err := p.cluster.get(ctx, pod.Name)
	if errors.Is(err, errNotThere) || err == nil && there.Annotations[annotationTry] != pod.Annotations[annotationTry] {
		return nil, nil
	}
	return there, err
}

// revoke deletes the pod of a start that ended before it knew whether the pod was created.
func (p *Provider) revoke(pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.Limits.Stop)
	defer cancel()
	delay := retry.New(100*time.Millisecond, 10*time.Second)
	made, err := p.findCreated(ctx, pod)
	for err != nil && waitBeforeRetry(ctx, delay, err) == nil {
		made, err = p.findCreated(ctx, pod)
	}
	if made != nil {
		p.view.applyResponse(made)
		if err = p.removeWithRetry(ctx, made); err == nil {
			err = p.waitDeleted(ctx, rawName(made), made)
		}
	}
	if err != nil {
		p.cfg.Logger.Error("cannot check whether an interrupted start left a pod", "pod", pod.Name, "error", err)
	}
}

// starting is a running start whose pod was created.
type starting struct {
	*Provider

	name        string
	uid         types.UID
	programSent bool
	warnings    []string // the warnings about the pod at the last query
}

// startAgent waits until the pod runs, and starts the agent in it.
func (s *starting) startAgent(ctx context.Context, cfg runtime.Config) error {
	pod, err := s.awaitRunning(ctx)
	if err != nil {
		return err
	}
	runtime.TellProgress(ctx, "")
	w := s.connTo(s.name, pod)
	if err := s.retryTransient(ctx, w.client.Connect); err != nil {
		return err
	}
	return w.client.Start(ctx, s.name, cfg)
}

// awaitRunning waits until the pod runs. Each phase has its own limit.
func (s *starting) awaitRunning(ctx context.Context) (*corev1.Pod, error) {
	var phase Phase
	limit := time.NewTimer(s.cfg.Limits.Schedule)
	defer limit.Stop()
	warningQuery := time.NewTimer(firstWarningQuery)
	defer warningQuery.Stop()
	for {
		next := s.view.next()
		s.reportProgress(ctx)
		pod, now, err := s.checkPhase(ctx)
		if err != nil || now == Running {
			return pod, err
		}
		if now != "" && now != phase {
			phase = now
			limit.Reset(s.cfg.Limits.phaseLimit(phase))
		}
		select {
		case <-next:
		case <-warningQuery.C:
			s.fetchWarnings(ctx)
			warningQuery.Reset(warningQueryInterval)
		case <-limit.C:
			return nil, fmt.Errorf("its pod is still %s after %v: %w", phase, s.cfg.Limits.phaseLimit(phase), context.DeadlineExceeded)
		case <-ctx.Done():
			return nil, fmt.Errorf("its pod is still %s: %w", phase, context.Cause(ctx))
		}
	}
}

// checkPhase returns the phase of the pod, or "" if it is unknown at the moment. It copies gc's
// program when the pod waits for it. It returns an error only if waiting cannot help.
func (s *starting) checkPhase(ctx context.Context) (*corev1.Pod, Phase, error) {
	pod, err := s.view.pod(s.name)
	if err != nil {
		return nil, "", nil //nolint:nilerr // an unknown phase is not a failure
	}
	if pod == nil || pod.UID != s.uid {
		return nil, "", &ReasonError{ErrPodEnded, "it was deleted"}
	}
	c := Judge(pod, nil)
	if c.Err != nil && !c.Recoverable {
		return nil, c.Phase, c.Err
	}
	return pod, c.Phase, s.uploadOnce(ctx, pod)
}

// uploadOnce copies the program when the init container waits for it, once for each start.
func (s *starting) uploadOnce(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		if status.Name != containerProgram || status.State.Running == nil || s.programSent {
			continue
		}
		s.programSent = true
		return s.retryTransient(ctx, func(ctx context.Context) error { return s.uploadProgram(ctx, pod) })
	}
	return nil
}

// retryTransient calls try until it succeeds, the pod fails or the limit ends. A container that has
// just started may refuse an exec for a moment.
func (s *starting) retryTransient(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.Prepare)
	defer cancel()
	delay := retry.New(100*time.Millisecond, 2*time.Second)
	for {
		err := try(ctx)
		if err == nil || errors.Is(err, ErrCannotRun) {
			return err
		}
		if pod, viewErr := s.view.pod(s.name); viewErr == nil && (pod == nil || pod.UID != s.uid || !Judge(pod, nil).Recoverable) {
			return err
		}
		if ended := waitBeforeRetry(ctx, delay, err); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// deletePod deletes the pod of a failed start and waits until it is gone.
func (s *starting) deletePod(ctx context.Context, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Limits.Stop)
	defer cancel()
	err := s.removeWithRetry(ctx, pod)
	if err == nil {
		err = s.waitDeleted(ctx, s.name, pod)
	}
	if err != nil {
		s.cfg.Logger.Error("cannot delete the pod of a failed start", "pod", pod.Name, "error", err)
	}
}

// removeWithRetry deletes a pod. It tries again while the cluster does not answer or refuses the
// credentials, because an expired token may be renewed.
func (p *Provider) removeWithRetry(ctx context.Context, pod *corev1.Pod) error {
	delay := retry.New(100*time.Millisecond, 10*time.Second)
	for {
		err := p.cluster.remove(ctx, pod, 1)
		if err == nil || !isIndeterminate(err) && !errors.Is(err, ErrLogin) {
			return err
		}
		if ended := waitBeforeRetry(ctx, delay, err); ended != nil {
			return errors.Join(ended, err)
		}
	}
}
