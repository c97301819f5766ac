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
	maxWarnings          = 3                // maximum number of warnings in a message
	firstWarningQuery    = 3 * time.Second  // a start reads its pod's warnings after this time
	warningQueryInterval = 15 * time.Second // and then at this interval
	warningQueryLimit    = 5 * time.Second  // limit for reading the warnings
)

// reportProgress reports to the caller of the start what the start waits for.
func (s *starting) reportProgress(ctx context.Context) {
	pod, err := s.view.pod(s.name)
	switch {
	case err != nil:
		runtime.TellProgress(ctx, "the cluster does not answer: "+err.Error())
	case pod != nil && pod.UID == s.uid:
		runtime.TellProgress(ctx, progressMessage(pod, s.warnings))
	}
}

// fetchWarnings reads the warnings about the pod. It does nothing if the watch has failed.
func (s *starting) fetchWarnings(ctx context.Context) {
	pod, err := s.view.pod(s.name)
	if err != nil || pod == nil || pod.UID != s.uid {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, warningQueryLimit)
	defer cancel()
	s.warnings = s.cluster.warnings(ctx, pod)
}

// withWarnings returns err, the error of a failed start, with the cluster's warnings about the pod.
func (s *starting) withWarnings(pod *corev1.Pod, err error) error {
	warnings := s.cluster.warnings(context.WithoutCancel(s.ctx), pod)
	if now, viewErr := s.view.pod(s.name); viewErr == nil && now != nil && now.UID == s.uid {
		if c := Judge(now, warnings); c.Err != nil {
			reason, ok := errors.AsType[*ReasonError](err)
			if ok && errors.Is(c.Err, reason.Kind) {
				err = c.Err
			} else {
				err = errors.Join(err, c.Err)
			}
		}
	}
	for _, warning := range appendWarnings([]string{err.Error()}, warnings)[1:] {
		err = fmt.Errorf("%w; %s", err, warning)
	}
	return err
}

// progressMessage returns a message with the pod's phase, its problem and its warnings. It returns "" if
// the pod runs.
func progressMessage(pod *corev1.Pod, warnings []string) string {
	c := Judge(pod, warnings)
	var parts []string
	switch c.Phase {
	case Running:
		return ""
	case Pulling:
		parts = append(parts, "its pod waits for its image and volumes on node "+c.Node)
	case Preparing:
		parts = append(parts, "gc is being copied into its pod, or its init containers run")
	default:
		parts = append(parts, "its pod is "+string(c.Phase))
	}
	if c.Err != nil {
		parts = append(parts, c.Err.Error())
	}
	return strings.Join(appendWarnings(parts, warnings), "; ")
}

// appendWarnings appends the last warnings to parts, except those that parts contains already.
func appendWarnings(parts, warnings []string) []string {
	for _, warning := range warnings[max(0, len(warnings)-maxWarnings):] {
		_, text, _ := strings.Cut(warning, ": ") // the text after the kind of the warning
		if !slices.ContainsFunc(parts, func(w string) bool { return strings.Contains(w, text) }) {
			parts = append(parts, warning)
		}
	}
	return parts
}
