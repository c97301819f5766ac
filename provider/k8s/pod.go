package k8s

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity/runtime"
)

// What a pod of ours is known by.
const (
	labelApp      = "app"
	labelCity     = "gc-city"
	labelSession  = "gc-session"
	labelAgent    = "gc-agent"
	annotationRaw = "gc-session-name" // the session's name as it is
	annotationTry = "gc-start"        // which start made the pod
	appName       = "gc-agent"
)

// Names inside a pod.
const (
	containerAgent   = "agent"
	containerProgram = "gc-program" // waits until the program is there

	folderGC       = "/gc"        // ours
	programPath    = "/gc/bin/gc" // brought here
	homeFolder     = "/gc-home"
	defaultWorkDir = "/workspace"
)

// defaultGrace is how many seconds a pod has to end that is evicted or deleted: for a turn that is under way,
// see internal/driver/remote. It does not hold up gc, which ends the agent first.
const defaultGrace = int64(30)

// labelLimit is how long a label's value and a host's name may be.
const labelLimit = 63

// podName returns the pod's name: readable in front, and different for each pair of city
// and session by what is behind it.
func podName(city, session string) string {
	sum := sha256.Sum256([]byte(city + "\x00" + session))
	tail := "-" + hex.EncodeToString(sum[:8])
	return "gc-" + strings.TrimRight(cut(slug(session), labelLimit-len("gc-")-len(tail)), "-") + tail
}

// outpostFolder returns where sessions are found again in a pod. Pods that share processes do
// not share it.
func outpostFolder(pod string) string {
	return path.Join(folderGC, "outpost"+pod[strings.LastIndex(pod, "-"):])
}

// slug makes lower-case letters, digits and dashes of a session's name.
func slug(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text)
	if text = strings.Trim(text, "-"); text == "" {
		return "session"
	}
	return text
}

// label makes a label's value of any text.
func label(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, text)
	return strings.Trim(cut(strings.Trim(text, "._-"), labelLimit), "._-")
}

func cut(text string, limit int) string { return text[:min(len(text), limit)] }

// order is what a manifest is made of.
type order struct {
	city, session, place, try string
	settings                  Settings
	cfg                       runtime.Config
	grace                     time.Duration // that the pod has to end
}

// manifest returns the pod of a session. Nothing that the agent is started with is in it
// but its working folder.
func manifest(o order) (*corev1.Pod, error) {
	if o.settings.Image == "" {
		return nil, ErrNoImage
	}
	pod, err := o.settings.base()
	if err != nil {
		return nil, err
	}
	wanted, err := o.settings.resources()
	if err != nil {
		return nil, err
	}
	pod.APIVersion, pod.Kind = "v1", "Pod"
	pod.Name, pod.GenerateName, pod.Namespace = podName(o.city, o.session), "", ""
	pod.Labels = withMore(pod.Labels, map[string]string{
		labelApp: appName, labelCity: o.city, labelSession: label(o.session), labelAgent: label(agentOf(o)),
	})
	pod.Annotations = withMore(pod.Annotations, map[string]string{annotationRaw: o.session, annotationTry: o.try})
	o.spec(&pod.Spec)
	o.grace = time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
	agent := extractContainer(&pod.Spec)
	if len(agent.Resources.Requests) == 0 && len(agent.Resources.Limits) == 0 {
		agent.Resources = wanted
	}
	o.container(&agent)
	pod.Spec.Containers = append([]corev1.Container{agent}, pod.Spec.Containers...)
	if !o.settings.Prebaked {
		pod.Spec.InitContainers = append([]corev1.Container{o.waiting(&agent)}, pod.Spec.InitContainers...)
	}
	return pod, nil
}

// agentOf returns the name of the agent that the session is of.
func agentOf(o order) string {
	for _, name := range []string{"GC_ALIAS", "GC_AGENT"} {
		if value := o.cfg.Env[name]; value != "" {
			return value
		}
	}
	return o.session
}

// spec fills what concerns the whole pod.
func (o order) spec(spec *corev1.PodSpec) {
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = new(defaultGrace)
	}
	if spec.ServiceAccountName == "" && spec.AutomountServiceAccountToken == nil {
		spec.AutomountServiceAccountToken = new(false) // an agent has no identity in the cluster
	}
	if spec.EnableServiceLinks == nil {
		spec.EnableServiceLinks = new(false)
	}
	if !o.settings.Root && spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(1000)), RunAsGroup: new(int64(1000)), FSGroup: new(int64(1000)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
	}
	work := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	if o.settings.Claim != "" {
		work = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: o.settings.Claim}}
	}
	for _, name := range []string{"gc", "gc-home", "gc-tmp"} {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "gc-work", VolumeSource: work})
}

// extractContainer removes the agent's container from the template, or makes it.
func extractContainer(spec *corev1.PodSpec) corev1.Container {
	for i := range spec.Containers {
		if c := spec.Containers[i]; c.Name == containerAgent {
			spec.Containers = append(spec.Containers[:i], spec.Containers[i+1:]...)
			return c
		}
	}
	return corev1.Container{Name: containerAgent}
}

// container fills the agent's container.
func (o order) container(c *corev1.Container) {
	c.Image = o.settings.Image
	if o.settings.PullPolicy != "" {
		c.ImagePullPolicy = corev1.PullPolicy(o.settings.PullPolicy)
	}
	program := programPath
	if o.settings.Prebaked {
		program = "gc"
	}
	c.Command, c.Args = []string{program, "outpost", "hold", outpostFolder(podName(o.city, o.session)), o.place, "--grace", o.grace.String()}, nil
	c.WorkingDir = folderGC
	set := map[string]bool{}
	for _, v := range c.Env {
		set[v.Name] = true
	}
	for name, value := range map[string]string{"HOME": homeFolder, "XDG_RUNTIME_DIR": folderGC + "/run"} {
		if !set[name] {
			c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	slices.SortFunc(c.Env, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	if !o.settings.Root && c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	theirs := c.VolumeMounts
	for _, m := range []corev1.VolumeMount{
		{Name: "gc", MountPath: folderGC},
		{Name: "gc-home", MountPath: homeFolder},
		{Name: "gc-tmp", MountPath: "/tmp"},
		{Name: "gc-work", MountPath: workDir(o.cfg)},
	} {
		if m.Name == "gc-tmp" && workDir(o.cfg) == m.MountPath {
			continue // who works there, has it
		}
		if !covered(theirs, m.MountPath) {
			c.VolumeMounts = append(c.VolumeMounts, m)
		}
	}
}

// covered reports whether the template has a volume at that path, or above it.
func covered(mounts []corev1.VolumeMount, at string) bool {
	return slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool {
		return at == m.MountPath || strings.HasPrefix(at, strings.TrimSuffix(m.MountPath, "/")+"/")
	})
}

// workDir returns the agent's folder: the one that it has everywhere.
func workDir(cfg runtime.Config) string {
	if cfg.WorkDir == "" {
		return defaultWorkDir
	}
	return path.Clean(cfg.WorkDir)
}

// waiting returns the init container into which the program is brought. It ends when the
// program has its name.
func (o order) waiting(agent *corev1.Container) corev1.Container {
	return corev1.Container{
		Name: containerProgram, Image: agent.Image, ImagePullPolicy: agent.ImagePullPolicy,
		Command:         []string{"/bin/sh", "-c", "trap 'exit 1' TERM; until [ -x " + programPath + " ]; do sleep 0.1 || sleep 1; done"},
		SecurityContext: agent.SecurityContext, VolumeMounts: []corev1.VolumeMount{{Name: "gc", MountPath: folderGC}},
		Resources: corev1.ResourceRequirements{Requests: agent.Resources.Requests, Limits: agent.Resources.Limits},
	}
}

// selector finds the pods of a city.
func selector(city string) string { return labelCity + "=" + city + "," + labelApp + "=" + appName }

// rawName returns the session that a pod is of.
func rawName(pod *corev1.Pod) string { return pod.Annotations[annotationRaw] }

// age returns when the pod was made.
func age(pod *corev1.Pod) metav1.Time { return pod.CreationTimestamp }
