package k8s

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gascity/runtime"
)

// Phase is the progress of a pod.
type Phase string

// The phases of a pod, in their order.
const (
	Scheduling Phase = "scheduling" // the pod has no node
	Pulling    Phase = "pulling"    // the node pulls images and mounts volumes
	Preparing  Phase = "preparing"  // the init containers run
	Running    Phase = "running"    // the agent's container runs
	Ended      Phase = "ended"      // all containers have terminated
	Leaving    Phase = "leaving"    // the pod is being deleted
)

// The reasons for a problem of a pod, and for a refused request.
var (
	ErrUnschedulable = errors.New("no node can run the pod")
	ErrImagePull     = errors.New("the image cannot be pulled")
	ErrImageNever    = errors.New("the image is not on the node, and the pull policy does not allow to pull it")
	ErrBadImage      = errors.New("the image's name is invalid")
	ErrCannotRun     = errors.New("the container cannot be created or started")
	ErrCrashLoop     = errors.New("a container exits repeatedly")
	ErrOutOfMemory   = errors.New("a container exceeded its memory limit")
	ErrEvicted       = errors.New("the pod was evicted from its node")
	ErrNodeLost      = errors.New("the pod's node does not answer")
	ErrPodEnded      = errors.New("the pod has ended")
	ErrQuota         = errors.New("a quota of the namespace is used up")
	ErrNotAdmitted   = errors.New("the cluster does not admit the pod")
	ErrLogin         = errors.New("the cluster does not accept the credentials")
	ErrForbidden     = errors.New("the cluster does not allow the request")
	ErrNoNamespace   = errors.New("the namespace does not exist")
	ErrInvalidPod    = errors.New("the cluster rejects the pod as invalid")
)

// remedies has advice for a person, by the reason.
var remedies = map[error]string{
	ErrUnschedulable: "lower the agent's requests, free resources, or correct node selector and tolerations; kubectl describe nodes shows free resources",
	ErrImagePull:     "check the image's name, the access of the nodes to its registry, and imagePullSecrets in the template",
	ErrImageNever:    "load the image onto the nodes, or change GC_K8S_PULL_POLICY",
	ErrBadImage:      "correct image in [session.k8s]",
	ErrCannotRun:     "check the volumes, secrets and config maps of the pod and its security context; the image must have a shell",
	ErrCrashLoop:     "the image needs a shell; with prebaked it needs gc in its PATH",
	ErrOutOfMemory:   "raise mem_limit in [session.k8s]",
	ErrEvicted:       "if its node was short of a resource, raise the request for it; kubectl describe node shows the reason",
	ErrNodeLost:      "kubectl get nodes shows its state",
}

// ReasonError is one of the reasons above with the message of the cluster.
type ReasonError struct {
	Kind error  // one of the reasons
	Text string // message of the cluster
}

func (e *ReasonError) Error() string {
	text := e.Kind.Error()
	if e.Text != "" {
		text += ": " + e.Text
	}
	if remedy := remedies[e.Kind]; remedy != "" {
		text += " (" + remedy + ")"
	}
	return text
}

// Unwrap returns the reason.
func (e *ReasonError) Unwrap() error { return e.Kind }

// Condition is the interpretation of a pod's status.
type Condition struct {
	Phase       Phase
	Err         error         // the problem of the pod, a [ReasonError]; nil if there is none
	Recoverable bool          // the problem may disappear without action
	Exit        *runtime.Exit // how the agent's container terminated; nil if it did not
	Node        string
}

// Judge returns the condition of a pod. events are the warnings about the pod, the newest last.
func Judge(pod *corev1.Pod, events []string) Condition {
	c := Condition{Node: pod.Spec.NodeName, Recoverable: true}
	lastEvent := ""
	if len(events) > 0 {
		lastEvent = events[len(events)-1]
	}
	c.Exit = exitOf(pod)
	switch {
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		c.Phase, c.Recoverable = Ended, false
		c.Err = endReason(pod, lastEvent)
	case pod.DeletionTimestamp != nil:
		c.Phase, c.Recoverable = Leaving, false
		c.Err = &ReasonError{ErrPodEnded, "it was deleted"}
		if why := disruption(pod); why != "" {
			c.Err = &ReasonError{ErrEvicted, why}
		}
		if nodeLost(pod) {
			c.Err = &ReasonError{ErrNodeLost, "node " + pod.Spec.NodeName}
		}
	case nodeLost(pod):
		c.Phase, c.Err = Running, &ReasonError{ErrNodeLost, "node " + pod.Spec.NodeName}
	case pod.Spec.NodeName == "":
		c.Phase = Scheduling
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				c.Err = &ReasonError{ErrUnschedulable, cmp.Or(condition.Message, condition.Reason)}
			}
		}
	default:
		c.judgeContainers(pod, lastEvent)
	}
	return c
}

// judgeContainers sets phase and error of a pod that has a node.
func (c *Condition) judgeContainers(pod *corev1.Pod, lastEvent string) {
	c.Phase = Pulling
	for i := range pod.Status.InitContainerStatuses {
		if pod.Status.InitContainerStatuses[i].State.Running != nil {
			c.Phase = Preparing
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Name == containerAgent && status.State.Running != nil {
			c.Phase = Running
		}
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			if c.judgeContainer(&list[i], lastEvent); c.Err != nil {
				return
			}
		}
	}
	if c.Phase == Pulling && lastEvent != "" && strings.Contains(lastEvent, "Failed") {
		c.Err = &ReasonError{ErrCannotRun, lastEvent}
	}
}

// judgeContainer sets the error of a container that does not run.
func (c *Condition) judgeContainer(status *corev1.ContainerStatus, lastEvent string) {
	if w := status.State.Waiting; w != nil {
		fail := func(kind error, recoverable bool) {
			c.Err, c.Recoverable = &ReasonError{kind, w.Reason + ": " + cmp.Or(w.Message, lastEvent)}, recoverable
		}
		switch w.Reason {
		case "ErrImageNeverPull":
			fail(ErrImageNever, false)
		case "InvalidImageName":
			fail(ErrBadImage, false)
		case "ImagePullBackOff":
			fail(ErrImagePull, false)
		case "ErrImagePull", "RegistryUnavailable", "ImageInspectError":
			fail(ErrImagePull, true)
		case "CrashLoopBackOff":
			fail(ErrCrashLoop, false)
			if outOfMemory(status.LastTerminationState.Terminated) {
				fail(ErrOutOfMemory, false)
			}
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError":
			fail(ErrCannotRun, w.Reason != "RunContainerError")
		}
	}
	if t := status.State.Terminated; outOfMemory(t) {
		c.Err, c.Recoverable = &ReasonError{ErrOutOfMemory, "container " + status.Name}, false
	}
}

func outOfMemory(t *corev1.ContainerStateTerminated) bool { return t != nil && t.Reason == "OOMKilled" }

// endReason returns the reason why all containers of a pod have terminated.
func endReason(pod *corev1.Pod, lastEvent string) error {
	if pod.Status.Reason == "Evicted" || disruption(pod) != "" {
		return &ReasonError{ErrEvicted, cmp.Or(pod.Status.Message, disruption(pod))}
	}
	if pod.Status.Reason == "NodeLost" || pod.Status.Reason == "NodeShutdown" || pod.Status.Reason == "Terminated" {
		return &ReasonError{ErrNodeLost, cmp.Or(pod.Status.Message, pod.Status.Reason)}
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			t := list[i].State.Terminated
			switch {
			case outOfMemory(t):
				return &ReasonError{ErrOutOfMemory, "container " + list[i].Name}
			case t != nil && (t.Reason == "StartError" || t.Reason == "ContainerCannotRun"):
				return &ReasonError{ErrCannotRun, t.Message}
			case t != nil && t.ExitCode != 0:
				return &ReasonError{ErrPodEnded, strings.TrimSpace(fmt.Sprintf("container %s exited with code %d %s", list[i].Name, t.ExitCode, t.Message))}
			}
		}
	}
	return &ReasonError{ErrPodEnded, cmp.Or(pod.Status.Message, pod.Status.Reason, lastEvent)}
}

// disruption returns the message of the cluster about a pod that it evicts or preempts, or "".
func disruption(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return cmp.Or(c.Message, c.Reason)
		}
	}
	return ""
}

// evictionReason returns why the cluster stops, or has stopped, a pod: eviction, preemption or a
// drained node. It returns "" if the cluster does not stop the pod.
func evictionReason(pod *corev1.Pod) string {
	why := disruption(pod)
	if why == "" || pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed {
		return ""
	}
	return (&ReasonError{ErrEvicted, why}).Error()
}

// nodeLost reports whether the pod's node does not answer the cluster.
func nodeLost(pod *corev1.Pod) bool {
	if pod.Status.Reason == "NodeLost" {
		return true
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Reason == "NodeStatusUnknown" {
			return true
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && t.Reason == "ContainerStatusUnknown" {
			return true
		}
	}
	return false
}

// exitOf returns how the agent's container terminated, or nil if it did not.
func exitOf(pod *corev1.Pod) *runtime.Exit {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if t := status.State.Terminated; status.Name == containerAgent && t != nil {
			exit := &runtime.Exit{Code: int(t.ExitCode), At: t.FinishedAt.Time}
			if t.Signal != 0 {
				exit.Signal = fmt.Sprintf("signal %d", t.Signal)
			}
			exit.Reason = reasonOf(pod)
			return exit
		}
	}
	if reason := reasonOf(pod); reason != "" {
		return &runtime.Exit{Code: -1, Signal: "killed", Reason: reason}
	}
	return nil
}

// reasonOf returns why a pod stopped for a reason outside the agent, or "".
func reasonOf(pod *corev1.Pod) string {
	if why := evictionReason(pod); why != "" {
		return why
	}
	if pod.Status.Phase != corev1.PodFailed {
		return ""
	}
	if err := endReason(pod, ""); !errors.Is(err, ErrPodEnded) {
		return err.Error()
	}
	return ""
}

// phaseLimit returns the limit of a phase.
func (l Limits) phaseLimit(p Phase) time.Duration {
	switch p {
	case Scheduling:
		return l.Schedule
	case Pulling:
		return l.Pull
	default:
		return l.Prepare
	}
}
