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

// Phase is how far a pod is.
type Phase string

// The phases of a pod, in their order.
const (
	Scheduling Phase = "scheduling" // no node has it
	Pulling    Phase = "pulling"    // images and volumes are brought to its node
	Preparing  Phase = "preparing"  // its init containers run
	Running    Phase = "running"    // its first process runs
	Ended      Phase = "ended"      // nothing runs in it any more
	Leaving    Phase = "leaving"    // it was asked to end
)

// The reasons for which a pod is not what it ought to be.
var (
	ErrUnschedulable = errors.New("no node takes the pod")
	ErrImagePull     = errors.New("the image cannot be pulled")
	ErrImageNever    = errors.New("the image is not on the node, and may not be pulled")
	ErrBadImage      = errors.New("the image's name is invalid")
	ErrCannotRun     = errors.New("the container cannot be made")
	ErrCrashLoop     = errors.New("a container ends again and again")
	ErrOutOfMemory   = errors.New("a container used more memory than it may")
	ErrEvicted       = errors.New("the pod was evicted from its node")
	ErrNodeLost      = errors.New("the pod's node does not answer")
	ErrPodEnded      = errors.New("the pod has ended")
	ErrQuota         = errors.New("a quota of the namespace is used up")
	ErrNotAdmitted   = errors.New("the cluster does not admit the pod")
	ErrLogin         = errors.New("the cluster does not accept who asks")
	ErrForbidden     = errors.New("the cluster does not allow it")
	ErrNoNamespace   = errors.New("the namespace is not there")
	ErrInvalidPod    = errors.New("the cluster finds the pod faulty")
)

// ReasonError is one of the reasons above with the cluster's own words.
type ReasonError struct {
	Kind error  // one of the reasons
	Text string // what the cluster said
}

func (e *ReasonError) Error() string {
	text := e.Kind.Error()
	if e.Text != "" {
		text += ": " + e.Text
	}
	if remedy := e.remedy(); remedy != "" {
		text += " (" + remedy + ")"
	}
	return text
}

// remedy returns what a person may do about it.
func (e *ReasonError) remedy() string {
	switch {
	case errors.Is(e.Kind, ErrUnschedulable):
		return "lower the agent's requests, make room, or correct node selector and tolerations; kubectl describe nodes shows what is free"
	case errors.Is(e.Kind, ErrImagePull):
		return "check the image's name, that nodes reach its registry, and imagePullSecrets in the template"
	case errors.Is(e.Kind, ErrImageNever):
		return "load it onto the nodes, or change GC_K8S_PULL_POLICY"
	case errors.Is(e.Kind, ErrBadImage):
		return "correct image in [session.k8s]"
	case errors.Is(e.Kind, ErrCannotRun):
		return "check what the pod mounts and refers to, its security context, and that the image has a shell"
	case errors.Is(e.Kind, ErrCrashLoop):
		return "the image needs a shell, or gc in its PATH where it is prebaked"
	case errors.Is(e.Kind, ErrOutOfMemory):
		return "raise mem_limit in [session.k8s]"
	case errors.Is(e.Kind, ErrEvicted):
		return "raise what it requests if its node was short of it; kubectl describe node shows it"
	case errors.Is(e.Kind, ErrNodeLost):
		return "kubectl get nodes shows how it is"
	}
	return ""
}

// Unwrap returns the reason.
func (e *ReasonError) Unwrap() error { return e.Kind }

// Condition is what a pod's status says.
type Condition struct {
	Phase       Phase
	Err         error         // why it does not get on, a [ReasonError]; nil if nothing is wrong
	Recoverable bool          // waiting may help
	Exit        *runtime.Exit // how the agent's container ended
	Node        string
}

// Judge reads a pod. Events are what the cluster reported about it, the newest
// last.
func Judge(pod *corev1.Pod, events []string) Condition {
	c := Condition{Node: pod.Spec.NodeName, Recoverable: true}
	said := ""
	if len(events) > 0 {
		said = events[len(events)-1]
	}
	c.Exit = exitOf(pod)
	switch {
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		c.Phase, c.Recoverable = Ended, false
		c.Err = whyEnded(pod, said)
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
		c.containers(pod, said)
	}
	return c
}

// containers judges a pod that has a node.
func (c *Condition) containers(pod *corev1.Pod, said string) {
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
			if c.waiting(&list[i], said); c.Err != nil {
				return
			}
		}
	}
	if c.Phase == Pulling && said != "" && strings.Contains(said, "Failed") {
		c.Err = &ReasonError{ErrCannotRun, said}
	}
}

// waiting judges a container that does not run.
func (c *Condition) waiting(status *corev1.ContainerStatus, said string) {
	if w := status.State.Waiting; w != nil {
		fail := func(kind error, hope bool) {
			c.Err, c.Recoverable = &ReasonError{kind, w.Reason + ": " + cmp.Or(w.Message, said)}, hope
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

// whyEnded says why nothing runs any more.
func whyEnded(pod *corev1.Pod, said string) error {
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
	return &ReasonError{ErrPodEnded, cmp.Or(pod.Status.Message, pod.Status.Reason, said)}
}

// disruption returns what the cluster says of a pod that it takes away.
func disruption(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return cmp.Or(c.Message, c.Reason)
		}
	}
	return ""
}

// evictionReason is why the cluster ends, or has ended, a pod that ran: by eviction, for one of higher
// priority, with its node. Empty if it does not.
func evictionReason(pod *corev1.Pod) string {
	why := disruption(pod)
	if why == "" || pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed {
		return ""
	}
	return (&ReasonError{ErrEvicted, why}).Error()
}

// nodeLost reports whether the cluster has lost sight of a pod's node.
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

// exitOf returns how the agent's container ended.
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

// reasonOf is why a pod ended that did not by its own will.
func reasonOf(pod *corev1.Pod) string {
	if why := evictionReason(pod); why != "" {
		return why
	}
	if pod.Status.Phase != corev1.PodFailed {
		return ""
	}
	if err := whyEnded(pod, ""); !errors.Is(err, ErrPodEnded) {
		return err.Error()
	}
	return ""
}

// limit is how long a phase may last.
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
