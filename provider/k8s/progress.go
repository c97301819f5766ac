package k8s

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gascity/runtime"
)

const (
	maxWarnings          = 3                // the pod's warnings that are repeated
	firstWarningQuery    = 3 * time.Second  // a start that waits that long asks for its pod's warnings,
	warningQueryInterval = 15 * time.Second // and again so long after that,
	askedFor             = 5 * time.Second  // for no longer than this
)

// reportProgress reports what the start waits for to the caller that follows it.
func (s *starting) reportProgress(ctx context.Context) {
	pod, err := s.view.pod(s.name)
	switch {
	case err != nil:
		runtime.TellProgress(ctx, "the cluster cannot be asked: "+err.Error())
	case pod != nil && pod.UID == s.uid:
		runtime.TellProgress(ctx, waitsFor(pod, s.warnings))
	}
}

// fetchWarnings asks for the warnings about the pod. A cluster that cannot be asked is left alone.
func (s *starting) fetchWarnings(ctx context.Context) {
	pod, err := s.view.pod(s.name)
	if err != nil || pod == nil || pod.UID != s.uid {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askedFor)
	defer cancel()
	s.warnings = s.cluster.warnings(ctx, pod)
}

// withWarnings adds what the cluster says of the pod to why a start failed.
func (s *starting) withWarnings(pod *corev1.Pod, err error) error {
	told := s.cluster.warnings(context.WithoutCancel(s.ctx), pod)
	if now, viewErr := s.view.pod(s.name); viewErr == nil && now != nil && now.UID == s.uid {
		if c := Judge(now, told); c.Err != nil {
			reason, ok := errors.AsType[*ReasonError](err)
			if ok && errors.Is(c.Err, reason.Kind) {
				err = c.Err
			} else {
				err = errors.Join(err, c.Err)
			}
		}
	}
	for _, said := range warned([]string{err.Error()}, told)[1:] {
		err = fmt.Errorf("%w; %s", err, said)
	}
	return err
}

// waitsFor says in words how far a pod is, why it does not get on, and what the cluster has
// warned of. It is empty for one that runs.
func waitsFor(pod *corev1.Pod, told []string) string {
	c := Judge(pod, told)
	var words []string
	switch c.Phase {
	case Running:
		return ""
	case Pulling:
		words = append(words, "its pod waits for its image and volumes on node "+c.Node)
	case Preparing:
		words = append(words, "gc is being copied into its pod, or its init containers run")
	default:
		words = append(words, "its pod is "+string(c.Phase))
	}
	if c.Err != nil {
		words = append(words, c.Err.Error())
	}
	return strings.Join(warned(words, told), "; ")
}

// warned appends the last warnings to words, those that are not in there yet.
func warned(words, told []string) []string {
	for _, said := range told[max(0, len(told)-maxWarnings):] {
		_, text, _ := strings.Cut(said, ": ") // behind the kind of warning
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, text) }) {
			words = append(words, said)
		}
	}
	return words
}
