package k8s

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Config configures the driver. ID, Place and Program are required.
type Config struct {
	Settings

	// ID identifies the city in its namespace. It must be the same at each start of a city. It
	// consists of letters and digits.
	ID    string
	Place string // name of the driver inside the pods
	// Program is the path of gc's program for this machine's platform. Programs holds the paths for
	// other platforms; the key is like "linux/arm64". gc copies the fitting one into the pod.
	Program  string
	Programs map[string]string
	// Worker is the socket of this city's worker API. Empty means that agents get no worker API.
	Worker string
	// Terminal is the value of TERM for this process's terminal.
	Terminal string
	Limits   Limits
	Logger   *slog.Logger
}

// Settings configure the pods. An empty field means the default. Variables in the environment of a
// session override some of them; see [Settings.With].
type Settings struct {
	Context        string // context of the client configuration; empty means the current one
	Namespace      string // empty means "gc"
	Image          string // required for a start
	PullPolicy     string // value of imagePullPolicy
	CPURequest     string // empty means 500m
	MemRequest     string // empty means 1Gi
	CPULimit       string // empty means 2
	MemLimit       string // empty means 4Gi
	ServiceAccount string
	PriorityClass  string
	NodeSelector   string // JSON, as in a pod
	Tolerations    string // JSON
	Affinity       string // JSON
	// Template is a pod in JSON, or the path of a file that contains one. It sets everything else,
	// such as volumes and security contexts. Its values override the defaults. Its container
	// "agent" is the agent's container.
	Template string
	Prebaked bool   // the image contains gc in its PATH
	Root     bool   // the driver sets no user and no read-only root file system; the image decides
	Claim    string // name of the persistent volume claim for the working directory; empty means a volume that is removed with the pod
}

// Limits are the limits for the phases of a start and for a stop. Zero means the default.
type Limits struct {
	Schedule time.Duration // until the pod has a node; default 2 min
	Pull     time.Duration // until images are pulled; default 5 min
	Prepare  time.Duration // until gc is copied and its outpost answers; default 2 min
	Stop     time.Duration // until a pod is deleted; default 2 min
}

// withDefaults returns the limits with a default for each one that is zero.
func (l Limits) withDefaults() Limits {
	return Limits{
		cmp.Or(l.Schedule, 2*time.Minute), cmp.Or(l.Pull, 5*time.Minute), cmp.Or(l.Prepare, 2*time.Minute), cmp.Or(l.Stop, 2*time.Minute),
	}
}

// variables returns the fields of the settings by the names of their environment variables.
func (s *Settings) variables() map[string]*string {
	return map[string]*string{
		"GC_K8S_CONTEXT": &s.Context, "GC_K8S_NAMESPACE": &s.Namespace, "GC_K8S_IMAGE": &s.Image, "GC_K8S_PULL_POLICY": &s.PullPolicy,
		"GC_K8S_CPU_REQUEST": &s.CPURequest, "GC_K8S_MEM_REQUEST": &s.MemRequest, "GC_K8S_CPU_LIMIT": &s.CPULimit, "GC_K8S_MEM_LIMIT": &s.MemLimit,
		"GC_K8S_SERVICE_ACCOUNT": &s.ServiceAccount, "GC_K8S_PRIORITY_CLASS_NAME": &s.PriorityClass,
		"GC_K8S_NODE_SELECTOR": &s.NodeSelector, "GC_K8S_TOLERATIONS": &s.Tolerations, "GC_K8S_AFFINITY": &s.Affinity,
		"GC_K8S_TEMPLATE": &s.Template, "GC_K8S_CLAIM": &s.Claim,
	}
}

// With returns the settings with the values of the variables in env. An unset or empty variable
// changes nothing. A session cannot change context and namespace, because the driver finds all pods
// of a city in one namespace; it uses these two settings of the city only.
func (s Settings) With(env map[string]string) Settings {
	for name, field := range s.variables() {
		*field = cmp.Or(env[name], *field)
	}
	for name, field := range map[string]*bool{"GC_K8S_PREBAKED": &s.Prebaked, "GC_K8S_ROOT": &s.Root} {
		if value := env[name]; value != "" {
			*field = value == "true" || value == "1"
		}
	}
	return s
}

// Environ returns the variables of an environment whose names begin with GC_K8S_.
func Environ(environ []string) map[string]string {
	found := map[string]string{}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, prefix) {
			found[name] = value
		}
	}
	return found
}

const prefix = "GC_K8S_"

// ErrNoImage reports that no image for pods is configured.
var ErrNoImage = errors.New("no image is configured for its pod: set image in [session.k8s], or GC_K8S_IMAGE")

// base returns the pod of the template with the other settings applied.
func (s Settings) base() (*corev1.Pod, error) {
	pod, err := s.template()
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name, text string
		into       any
	}{
		{"node_selector", s.NodeSelector, &pod.Spec.NodeSelector},
		{"tolerations", s.Tolerations, &pod.Spec.Tolerations},
		{"affinity", s.Affinity, &pod.Spec.Affinity},
	} {
		if part.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return nil, fmt.Errorf("%s in [session.k8s] is not valid JSON for a pod: %w", part.name, err)
		}
	}
	pod.Spec.ServiceAccountName = cmp.Or(s.ServiceAccount, pod.Spec.ServiceAccountName)
	pod.Spec.PriorityClassName = cmp.Or(s.PriorityClass, pod.Spec.PriorityClassName)
	return pod, nil
}

// template returns the pod of the setting template, which is JSON or the path of a file with JSON; an empty pod if the
// setting is empty.
func (s Settings) template() (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	text := []byte(s.Template)
	if len(text) == 0 {
		return pod, nil
	}
	if !strings.HasPrefix(strings.TrimSpace(s.Template), "{") {
		var err error
		if text, err = os.ReadFile(s.Template); err != nil {
			return nil, fmt.Errorf("cannot read the pod template: %w", err)
		}
	}
	if err := json.Unmarshal(text, pod); err != nil {
		return nil, fmt.Errorf("the pod template is not the JSON of a pod: %w", err)
	}
	return pod, nil
}

// resources returns requests and limits of the agent's container.
func (s Settings) resources() (corev1.ResourceRequirements, error) {
	out := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	for _, row := range []struct {
		key  string
		text string
		list corev1.ResourceList
		name corev1.ResourceName
	}{
		{"cpu_request", cmp.Or(s.CPURequest, "500m"), out.Requests, corev1.ResourceCPU},
		{"mem_request", cmp.Or(s.MemRequest, "1Gi"), out.Requests, corev1.ResourceMemory},
		{"cpu_limit", cmp.Or(s.CPULimit, "2"), out.Limits, corev1.ResourceCPU},
		{"mem_limit", cmp.Or(s.MemLimit, "4Gi"), out.Limits, corev1.ResourceMemory},
	} {
		quantity, err := resource.ParseQuantity(row.text)
		if err != nil {
			return out, fmt.Errorf("%s %q is not a quantity such as 500m or 4Gi", row.key, row.text)
		}
		row.list[row.name] = quantity
	}
	for name, request := range out.Requests { // a request must not exceed a limit that was lowered
		if limit := out.Limits[name]; request.Cmp(limit) > 0 {
			out.Requests[name] = limit
		}
	}
	return out, nil
}

// withMore returns a copy of have with the entries of more added.
func withMore(have, more map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}
