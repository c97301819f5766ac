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

// Config is what the driver is opened with. ID, Place and Program are required.
type Config struct {
	Settings

	// ID names the city in its namespace: one city has the same one always. Letters and digits.
	ID    string
	Place string // the driver inside the pods
	// Program is gc for this machine, which is brought into containers of the same kind;
	// Programs are those for others, by "linux/arm64".
	Program  string
	Programs map[string]string
	// Worker is the socket of this city's worker API, empty if agents get none.
	Worker string
	// Terminal is the kind of this process's terminal, as TERM says it.
	Terminal string
	Limits   Limits
	Logger   *slog.Logger
}

// Settings say where pods run and what they are like. Empty means the default. Those of
// one session may differ: variables in its environment win, see [Settings.With].
type Settings struct {
	Context        string // of the client configuration; empty is the current one
	Namespace      string // empty is "gc"
	Image          string // required for a start
	PullPolicy     string // as Kubernetes says it
	CPURequest     string // empty is 500m
	MemRequest     string // empty is 1Gi
	CPULimit       string // empty is 2
	MemLimit       string // empty is 4Gi
	ServiceAccount string
	PriorityClass  string
	NodeSelector   string // JSON, as in a pod
	Tolerations    string // JSON
	Affinity       string // JSON
	// Template is a pod in JSON, or the path of a file with it: everything else that pods
	// have, such as volumes and security contexts. What is in it wins over the defaults;
	// its container "agent" is the agent's.
	Template string
	Prebaked bool   // the image has gc in its PATH
	Root     bool   // the agent's user, and the writing of the image, are the image's business
	Claim    string // of a persistent volume for the working folder; empty is one that goes with the pod
}

// Limits bound the phases of a start. Zero means the default.
type Limits struct {
	Schedule time.Duration // until a node is found: 2 min
	Pull     time.Duration // until images are there: 5 min
	Prepare  time.Duration // until gc is there and its outpost answers: 2 min
	Stop     time.Duration // until a pod is gone: 2 min
}

func (l Limits) filled() Limits {
	return Limits{
		cmp.Or(l.Schedule, 2*time.Minute), cmp.Or(l.Pull, 5*time.Minute), cmp.Or(l.Prepare, 2*time.Minute), cmp.Or(l.Stop, 2*time.Minute),
	}
}

// Variables are the environment's names for settings.
func (s *Settings) variables() map[string]*string {
	return map[string]*string{
		"GC_K8S_CONTEXT": &s.Context, "GC_K8S_NAMESPACE": &s.Namespace, "GC_K8S_IMAGE": &s.Image, "GC_K8S_PULL_POLICY": &s.PullPolicy,
		"GC_K8S_CPU_REQUEST": &s.CPURequest, "GC_K8S_MEM_REQUEST": &s.MemRequest, "GC_K8S_CPU_LIMIT": &s.CPULimit, "GC_K8S_MEM_LIMIT": &s.MemLimit,
		"GC_K8S_SERVICE_ACCOUNT": &s.ServiceAccount, "GC_K8S_PRIORITY_CLASS_NAME": &s.PriorityClass,
		"GC_K8S_NODE_SELECTOR": &s.NodeSelector, "GC_K8S_TOLERATIONS": &s.Tolerations, "GC_K8S_AFFINITY": &s.Affinity,
		"GC_K8S_TEMPLATE": &s.Template, "GC_K8S_CLAIM": &s.Claim,
	}
}

// With returns the settings as variables say them: an unset or empty one changes nothing.
// Where a session runs cannot be said by the session: what a city has is found in one
// namespace.
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

// Environ returns the variables of an environment that With knows.
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

// ErrNoImage says that no image for pods is configured.
var ErrNoImage = errors.New("there is no image for its pod: set image in [session.k8s], or GC_K8S_IMAGE")

// base returns the pod of the template, with what the other settings say in it.
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
			return nil, fmt.Errorf("%s is not the JSON of a pod's: %w", part.name, err)
		}
	}
	pod.Spec.ServiceAccountName = cmp.Or(s.ServiceAccount, pod.Spec.ServiceAccountName)
	pod.Spec.PriorityClassName = cmp.Or(s.PriorityClass, pod.Spec.PriorityClassName)
	return pod, nil
}

func (s Settings) template() (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	text := []byte(s.Template)
	if len(text) == 0 {
		return pod, nil
	}
	if !strings.HasPrefix(strings.TrimSpace(s.Template), "{") {
		var err error
		if text, err = os.ReadFile(s.Template); err != nil {
			return nil, fmt.Errorf("cannot read the template of pods: %w", err)
		}
	}
	if err := json.Unmarshal(text, pod); err != nil {
		return nil, fmt.Errorf("the template of pods is not the JSON of a pod: %w", err)
	}
	return pod, nil
}

// resources returns what the agent's container asks for and may use.
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
	for name, request := range out.Requests { // a limit that was lowered holds for the default request, too
		if limit := out.Limits[name]; request.Cmp(limit) > 0 {
			out.Requests[name] = limit
		}
	}
	return out, nil
}

// labels returns a copy of the map with more in it.
func withMore(have, more map[string]string) map[string]string {
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, more)
	return out
}
