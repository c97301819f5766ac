package k8s

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gascity/runtime"
)

// Start implements runtime.Runner: a pod is made, gc brought into it, and the
// agent started there. What cannot get better ends it at once with the cluster's words;
// each phase has a limit. Whatever fails, the pod is taken back.
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
	cfg = withWorkDir(cfg)
	pod, err := manifest(order{city: p.cfg.ID, session: name, place: p.cfg.Place, try: rand.Text(), settings: p.cfg.Settings.With(cfg.Env), cfg: cfg})
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

// withWorkDir names the folder that the pod has for a session without one.
func withWorkDir(cfg runtime.Config) runtime.Config {
	cfg.WorkDir = workDir(cfg)
	return runtime.SyncWorkDirEnv(cfg)
}

// claim notes a start in this process.
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

// clear ensures that the name is free. A pod in which nothing lives is removed, by its
// identity; a pod that may be alive is not touched.
func (p *Provider) clear(ctx context.Context, name string) error {
	pod, err := p.view.pod(name)
	if err != nil || pod == nil {
		return err
	}
	switch c := Judge(pod, nil); c.Phase {
	case Leaving:
		runtime.TellProgress(ctx, "its previous pod has not ended yet")
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

// waitDeleted waits until the view has seen that the pod is no more.
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
	return errors.Join(fmt.Errorf("pod %s is still there: %w", pod.Name, err), viewErr)
}

// create makes the pod. A request without a good answer may have made it all the same: it
// is made again, with growing pauses, and what is there by then is known by the mark of this
// start. If it is given up, what may be there is taken back.
func (p *Provider) create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Limits.Prepare)
	defer cancel()
	pause, unsure := pauses(250*time.Millisecond, 10*time.Second), false
	for {
		made, err := p.cluster.create(ctx, pod)
		if errors.Is(err, errTaken) {
			made, err = p.resolveConflict(ctx, pod)
		}
		if err == nil {
			return made, nil
		}
		if !isIndeterminate(err) && ctx.Err() == nil {
			if unsure { // what it refuses now may be there already: it counts against a quota
				if made, getErr := p.findCreated(ctx, pod); getErr == nil && made != nil {
					return made, nil
				}
			}
			return nil, err
		}
		unsure = true
		p.cfg.Logger.Warn("a pod could not be made, and is tried again", "pod", pod.Name, "error", err)
		runtime.TellProgress(ctx, "its pod could not be made, and is tried again: "+err.Error())
		if ended := waitOut(ctx, pause, err); ended != nil {
			p.revoke(pod)
			return nil, errors.Join(ended, err)
		}
	}
}

// resolveConflict returns what it means that the pod's name is taken: it is that of this start, which did
// not learn that, or somebody else's.
func (p *Provider) resolveConflict(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	there, err := p.cluster.get(ctx, pod.Name)
	switch {
	case errors.Is(err, errNotThere):
		return nil, fmt.Errorf("%w: pod %s has just gone", runtime.ErrRuntimeUnavailable, pod.Name)
	case err != nil:
		return nil, err
	case there.Annotations[annotationTry] == pod.Annotations[annotationTry]:
		return there, nil
	case there.Labels[labelCity] != pod.Labels[labelCity] || rawName(there) != rawName(pod):
		return nil, fmt.Errorf("pod %s is not this city's: %w", pod.Name, errTaken)
	}
	return nil, runtime.ErrSessionInitializing // somebody else has just begun
}

// findCreated returns the pod if this start made it, nil if it certainly is not there.
func (p *Provider) findCreated(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	there, err := p.cluster.get(ctx, pod.Name)
	if errors.Is(err, errNotThere) || err == nil && there.Annotations[annotationTry] != pod.Annotations[annotationTry] {
		return nil, nil
	}
	return there, err
}

// revoke removes the pod of a start that was given up before anybody said that it was made.
func (p *Provider) revoke(pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(p.ctx, p.cfg.Limits.Stop)
	defer cancel()
	pause := pauses(100*time.Millisecond, 10*time.Second)
	made, err := p.findCreated(ctx, pod)
	for err != nil && waitOut(ctx, pause, err) == nil {
		made, err = p.findCreated(ctx, pod)
	}
	if made != nil {
		p.view.applyResponse(made)
		if err = p.insistRemove(ctx, made); err == nil {
			err = p.waitDeleted(ctx, rawName(made), made)
		}
	}
	if err != nil {
		p.cfg.Logger.Error("it is not known whether a start that was given up has left a pod", "pod", pod.Name, "error", err)
	}
}

// starting is one start whose pod was made.
type starting struct {
	*Provider

	name        string
	uid         types.UID
	programSent bool
	warnings    []string // the warnings about the pod, when they were last asked for
}

// startAgent waits for the pod and starts the agent in it.
func (s *starting) startAgent(ctx context.Context, cfg runtime.Config) error {
	pod, err := s.awaitRunning(ctx)
	if err != nil {
		return err
	}
	runtime.TellProgress(ctx, "")
	w := s.connTo(s.name, pod)
	if err := s.reach(ctx, w); err != nil {
		return err
	}
	return w.client.Start(ctx, s.name, cfg)
}

// awaitRunning follows the pod through its phases, each with its limit.
func (s *starting) awaitRunning(ctx context.Context) (*corev1.Pod, error) {
	var phase Phase
	limit := time.NewTimer(s.cfg.Limits.Schedule)
	defer limit.Stop()
	asked := time.NewTimer(firstWarningQuery)
	defer asked.Stop()
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
		case <-asked.C:
			s.fetchWarnings(ctx)
			asked.Reset(warningQueryInterval)
		case <-limit.C:
			return nil, fmt.Errorf("its pod is still %s after %v: %w", phase, s.cfg.Limits.phaseLimit(phase), context.DeadlineExceeded)
		case <-ctx.Done():
			return nil, fmt.Errorf("its pod is still %s: %w", phase, context.Cause(ctx))
		}
	}
}

// checkPhase returns how far the pod is, empty if that is not known now, and brings the program
// when it is time. An error is one that waiting does not cure.
func (s *starting) checkPhase(ctx context.Context) (*corev1.Pod, Phase, error) {
	pod, err := s.view.pod(s.name)
	if err != nil {
		return nil, "", nil //nolint:nilerr // unknown is no failure
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

// uploadOnce brings the program when somebody waits for it.
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

// reach connects to the pod's outpost.
func (s *starting) reach(ctx context.Context, w *podConn) error {
	return s.retryTransient(ctx, w.client.Connect)
}

// retryTransient tries what may fail for a moment: a container that runs may not take an exec yet.
func (s *starting) retryTransient(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.Prepare)
	defer cancel()
	pause := pauses(100*time.Millisecond, 2*time.Second)
	for {
		err := try(ctx)
		if err == nil || errors.Is(err, ErrCannotRun) {
			return err
		}
		if pod, viewErr := s.view.pod(s.name); viewErr == nil && (pod == nil || pod.UID != s.uid || !Judge(pod, nil).Recoverable) {
			return err
		}
		if ended := waitOut(ctx, pause, err); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// deletePod removes the pod of a start that failed.
func (s *starting) deletePod(ctx context.Context, pod *corev1.Pod) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Limits.Stop)
	defer cancel()
	err := s.insistRemove(ctx, pod)
	if err == nil {
		err = s.waitDeleted(ctx, s.name, pod)
	}
	if err != nil {
		s.cfg.Logger.Error("the pod of a start that failed stays", "pod", pod.Name, "error", err)
	}
}

// insistRemove deletes a pod as often as the cluster does not answer, or not to who asks:
// a token that has expired may be renewed by then.
func (p *Provider) insistRemove(ctx context.Context, pod *corev1.Pod) error {
	pause := pauses(100*time.Millisecond, 10*time.Second)
	for {
		err := p.cluster.remove(ctx, pod, 1)
		if err == nil || !isIndeterminate(err) && !errors.Is(err, ErrLogin) {
			return err
		}
		if ended := waitOut(ctx, pause, err); ended != nil {
			return errors.Join(ended, err)
		}
	}
}
