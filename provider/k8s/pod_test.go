package k8s

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"gascity/runtime"
)

// Pod names are valid host names, and different for different sessions.
func TestPodNames(t *testing.T) {
	good := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$`)
	value := regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$`)
	session := rapid.StringMatching(`[A-Za-z0-9_][A-Za-z0-9_-]{0,127}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := session.Draw(t, "a"), session.Draw(t, "b")
		if name := podName("city", a); !good.MatchString(name) || !value.MatchString(label(a)) {
			t.Errorf("%q becomes %q, label %q", a, name, label(a))
		}
		if (podName("city", a) == podName("city", b)) != (a == b) || podName("x", a) == podName("y", a) {
			t.Errorf("%q and %q share a name", a, b)
		}
	})
	for _, pair := range [][2]string{{"a_b", "a-b"}, {"A", "a"}, {"a-", "a"}, {strings.Repeat("x", 100), strings.Repeat("x", 101)}} {
		if podName("c", pair[0]) == podName("c", pair[1]) {
			t.Errorf("%q and %q share a name", pair[0], pair[1])
		}
	}
}

func TestManifest(t *testing.T) {
	o := podSpec{
		city: "c1", session: "worker_1", place: "p", try: "t",
		settings: Settings{Image: "img", CPULimit: "100m", NodeSelector: `{"disk":"ssd"}`, Tolerations: `[{"key":"k"}]`, PriorityClass: "high", ServiceAccount: "sa"},
		cfg:      runtime.Config{WorkDir: "/city/", Command: "secret-command", Env: map[string]string{"TOKEN": "secret-token", "GC_ALIAS": "worker"}},
	}
	pod, err := manifest(o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(pod)
	if err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("a secret is in the pod: %s, %v", text, err)
	}
	agent := pod.Spec.Containers[0]
	if s := agent.SecurityContext; s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Drop) != 1 || !*pod.Spec.SecurityContext.RunAsNonRoot {
		t.Errorf("the pod is not confined: %s", text)
	}
	if got := agent.Resources.Requests.Cpu().String(); got != "100m" {
		t.Errorf("the request is %s, above the limit", got)
	}
	want := map[string]string{"app": "gc-agent", "gc-city": "c1", "gc-session": "worker_1", "gc-agent": "worker"}
	if diff := cmp.Diff(want, pod.Labels); diff != "" || pod.Annotations[annotationRaw] != "worker_1" {
		t.Error(diff, pod.Annotations)
	}
	if pod.Spec.NodeSelector["disk"] != "ssd" || len(pod.Spec.Tolerations) != 1 || pod.Spec.PriorityClassName != "high" || pod.Spec.ServiceAccountName != "sa" {
		t.Errorf("settings are lost: %s", text)
	}
	if last := agent.VolumeMounts[len(agent.VolumeMounts)-1]; last.Name != "gc-work" || last.MountPath != "/city" {
		t.Errorf("the working folder is mounted as %+v", last)
	}
	there := map[string]bool{}
	inTmp := o
	inTmp.cfg.WorkDir = "/tmp"
	if pod, err = manifest(inTmp); err != nil {
		t.Fatal(err)
	}
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if there[m.MountPath] {
			t.Errorf("two volumes are mounted at %s", m.MountPath)
		}
		there[m.MountPath] = true
	}
	o.settings.Template = `{"spec":{"containers":[{"name":"side"},{"name":"agent","volumeMounts":[{"name":"v","mountPath":"/"}],"securityContext":{}}],"securityContext":{}}}`
	o.settings.Prebaked = true
	if pod, err = manifest(o); err != nil || len(pod.Spec.Containers) != 2 || len(pod.Spec.InitContainers) != 0 || len(pod.Spec.Containers[0].VolumeMounts) != 1 ||
		pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem != nil {
		t.Errorf("the template does not win: %+v, %v", pod, err)
	}
	o.settings.Image = ""
	if _, err := manifest(o); !errors.Is(err, ErrNoImage) {
		t.Errorf("without an image: %v", err)
	}
}

func TestSettingsOfTheEnvironment(t *testing.T) {
	s := Settings{Image: "a", Namespace: "n"}.With(Environ([]string{"GC_K8S_IMAGE=b", "GC_K8S_PREBAKED=true", "GC_K8S_NAMESPACE=", "OTHER=x"}))
	if s.Image != "b" || !s.Prebaked || s.Namespace != "n" {
		t.Errorf("settings = %+v", s)
	}
}

func waits(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: containerAgent, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func ended(reason string, code int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: containerAgent, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}}}
}

func TestJudge(t *testing.T) {
	runs := corev1.ContainerStatus{Name: containerAgent, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	crashed := waits("CrashLoopBackOff", "back-off 10s")
	full := crashed
	full.LastTerminationState = ended("OOMKilled", 137).State
	on := func(statuses ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{ContainerStatuses: statuses}}
	}
	with := func(p corev1.Pod, edit func(*corev1.Pod)) corev1.Pod {
		edit(&p)
		return p
	}
	for name, c := range map[string]struct {
		pod    corev1.Pod
		events []string
		phase  Phase
		kind   error
		hope   bool
	}{
		"new": {corev1.Pod{}, nil, Scheduling, nil, true},
		"no node": {corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes",
		}}}}, nil, Scheduling, ErrUnschedulable, true},
		"creating":      {on(waits("ContainerCreating", "")), nil, Pulling, nil, true},
		"first pull":    {on(waits("ErrImagePull", "no")), nil, Pulling, ErrImagePull, true},
		"pull again":    {on(waits("ImagePullBackOff", "no")), nil, Pulling, ErrImagePull, false},
		"never":         {on(waits("ErrImageNeverPull", "no")), nil, Pulling, ErrImageNever, false},
		"name":          {on(waits("InvalidImageName", "no")), nil, Pulling, ErrBadImage, false},
		"crash loop":    {on(crashed), nil, Pulling, ErrCrashLoop, false},
		"memory, again": {on(full), nil, Pulling, ErrOutOfMemory, false},
		"cannot run":    {on(waits("CreateContainerConfigError", "secret x not found")), nil, Pulling, ErrCannotRun, true},
		"volume":        {on(waits("ContainerCreating", "")), []string{"FailedMount: no such claim"}, Pulling, ErrCannotRun, true},
		"runs":          {on(runs), nil, Running, nil, true},
		"memory":        {with(on(ended("OOMKilled", 137)), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), nil, Ended, ErrOutOfMemory, false},
		"exit":          {with(on(ended("Error", 3)), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), nil, Ended, ErrPodEnded, false},
		"bad command":   {with(on(ended("StartError", 128)), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), nil, Ended, ErrCannotRun, false},
		"evicted":       {with(on(), func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" }), nil, Ended, ErrEvicted, false},
		"leaving":       {with(on(runs), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), nil, Leaving, ErrPodEnded, false},
		"node lost": {with(on(runs), func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Reason: "NodeStatusUnknown"}}
		}), nil, Running, ErrNodeLost, true},
	} {
		got := Judge(&c.pod, c.events)
		if got.Phase != c.phase || !errors.Is(got.Err, c.kind) || (got.Err == nil) != (c.kind == nil) || got.Recoverable != c.hope {
			t.Errorf("%s: %+v, want %s %v %v", name, got, c.phase, c.kind, c.hope)
		}
	}
}
