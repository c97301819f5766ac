package k8s

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gascity/runtime"
)

// The labels and annotations of the driver's pods.
const (
	labelApp      = "app"
	labelCity     = "gc-city"
	labelSession  = "gc-session"
	labelAgent    = "gc-agent"
	annotationRaw = "gc-session-name" // the unchanged name of the session
	annotationTry = "gc-start"        // random id of the start that created the pod
	appName       = "gc-agent"
)

// Names inside a pod.
const (
	containerAgent   = "agent"
	containerProgram = "gc-program" // waits until gc's program is copied

	folderGC       = "/gc"        // directory of gc
	programPath    = "/gc/bin/gc" // gc's program, copied by the driver
	homeFolder     = "/gc-home"
	defaultWorkDir = "/workspace"
)

// defaultGrace is the termination grace period of a pod, in seconds. It lets a running turn finish
// when the pod is evicted or deleted; see internal/driver/remote. A stop by gc does not wait for
// it, because gc stops the agent first.
const defaultGrace = int64(30)

// labelLimit is the maximum length of a label value and of a host name.
const labelLimit = 63

// podName returns the pod's name: a readable part of the session's name and a hash. The hash is
// different for each pair of city and session.
func podName(city, session string) string {
	sum := sha256.Sum256([]byte(city + "\x00" + session))
	suffix := "-" + hex.EncodeToString(sum[:8])
	return "gc-" + strings.TrimRight(cut(slug(session), labelLimit-len("gc-")-len(suffix)), "-") + suffix
}

// outpostFolder returns the directory of an outpost in a pod. It depends on the pod, so pods that
// share a volume do not share it.
func outpostFolder(pod string) string {
	return path.Join(folderGC, "outpost"+pod[strings.LastIndex(pod, "-"):])
}

// slug returns text with every character other than lower-case letters, digits and dashes replaced.
// It converts upper-case letters, and returns "session" if nothing remains.
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

// label returns text as a valid value of a label.
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

// podSpec is the input of manifest.
type podSpec struct {
	city, session, place, try string
	settings                  Settings
	cfg                       runtime.Config
	grace                     time.Duration // the pod's termination grace period
}

// manifest returns the pod of a session. Of the agent's start configuration it contains only the
// working directory.
func manifest(o podSpec) (*corev1.Pod, error) {
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
		pod.Spec.InitContainers = append([]corev1.Container{o.programContainer(&agent)}, pod.Spec.InitContainers...)
	}
	return pod, nil
}

// agentOf returns the name of the session's agent, or the session's name if the environment has no
// agent name.
func agentOf(o podSpec) string {
	for _, name := range []string{"GC_ALIAS", "GC_AGENT"} {
		if value := o.cfg.Env[name]; value != "" {
			return value
		}
	}
	return o.session
}

// spec sets the fields of the pod that do not belong to one container.
func (o podSpec) spec(spec *corev1.PodSpec) {
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = new(defaultGrace)
	}
	if spec.ServiceAccountName == "" && spec.AutomountServiceAccountToken == nil {
		spec.AutomountServiceAccountToken = new(false) // an agent needs no identity in the cluster
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

// extractContainer removes the agent's container from the pod of the template and returns it. It
// returns a new container if the template has none.
func extractContainer(spec *corev1.PodSpec) corev1.Container {
	for i := range spec.Containers {
		if c := spec.Containers[i]; c.Name == containerAgent {
			spec.Containers = append(spec.Containers[:i], spec.Containers[i+1:]...)
			return c
		}
	}
	return corev1.Container{Name: containerAgent}
}

// container sets the fields of the agent's container.
func (o podSpec) container(c *corev1.Container) {
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
	templateMounts := c.VolumeMounts
	for _, m := range []corev1.VolumeMount{
		{Name: "gc", MountPath: folderGC},
		{Name: "gc-home", MountPath: homeFolder},
		{Name: "gc-tmp", MountPath: "/tmp"},
		{Name: "gc-work", MountPath: workDir(o.cfg)},
	} {
		if m.Name == "gc-tmp" && workDir(o.cfg) == m.MountPath {
			continue // the working directory is mounted there
		}
		if !covered(templateMounts, m.MountPath) {
			c.VolumeMounts = append(c.VolumeMounts, m)
		}
	}
}

// covered reports whether the template mounts a volume at that path or above it.
func covered(mounts []corev1.VolumeMount, at string) bool {
	return slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool {
		return at == m.MountPath || strings.HasPrefix(at, strings.TrimSuffix(m.MountPath, "/")+"/")
	})
}

// workDir returns the agent's working directory, which has the same path in the pod as in the
// configuration, or the default if the session configures none.
func workDir(cfg runtime.Config) string {
	if cfg.WorkDir == "" {
		return defaultWorkDir
	}
	return path.Clean(cfg.WorkDir)
}

// programContainer returns the init container that the driver copies gc's program into. It exits when the
// program is complete.
func (o podSpec) programContainer(agent *corev1.Container) corev1.Container {
	return corev1.Container{
		Name: containerProgram, Image: agent.Image, ImagePullPolicy: agent.ImagePullPolicy,
		Command:         []string{"/bin/sh", "-c", "trap 'exit 1' TERM; until [ -x " + programPath + " ]; do sleep 0.1 || sleep 1; done"},
		SecurityContext: agent.SecurityContext, VolumeMounts: []corev1.VolumeMount{{Name: "gc", MountPath: folderGC}},
		Resources: corev1.ResourceRequirements{Requests: agent.Resources.Requests, Limits: agent.Resources.Limits},
	}
}

// selector returns the label selector of a city's pods.
func selector(city string) string { return labelCity + "=" + city + "," + labelApp + "=" + appName }

// rawName returns the session's name of a pod.
func rawName(pod *corev1.Pod) string { return pod.Annotations[annotationRaw] }
