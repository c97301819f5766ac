package cluster_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/provider/k8s"
	"gascity/runtime"
)

// The tier gives its programs and its folder by the environment.
const (
	folderVariable  = "CLUSTER_DIR"      // of the cluster that runs
	programVariable = "CLUSTER_PROGRAMS" // a folder with gc and fakeagent
	image           = "docker.io/test/tools:1"
	namespace       = "gc"
	waitLimit       = 60 * time.Second
)

// requireCluster skips a test outside the tier.
func requireCluster(t *testing.T) {
	t.Helper()
	if os.Getenv(folderVariable) == "" || os.Getenv(programVariable) == "" {
		t.Skip("there is no cluster: make test-cluster runs this")
	}
}

// needs returns where a program is that a test drives. Without it the test is left out, and
// fails where GC_TEST_REQUIRE names it: skipped tests are not counted here.
func needs(t *testing.T, name string) string {
	t.Helper()
	path, err := osexec.LookPath(name)
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv("GC_TEST_REQUIRE"), ","), name):
		t.Fatalf("%s is not here, and GC_TEST_REQUIRE names it", name)
	default:
		t.Skipf("%s is not here", name)
	}
	return path
}

func program(name string) string { return filepath.Join(os.Getenv(programVariable), name) }

func must[X any](x X, err error) X {
	if err != nil {
		panic(err)
	}
	return x
}

// kubectl runs it and returns what it printed.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := osexec.CommandContext(t.Context(), "kubectl", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// apply makes an object of JSON.
func apply(t *testing.T, object string) {
	t.Helper()
	cmd := osexec.CommandContext(t.Context(), "kubectl", "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(object)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply: %v\n%s\n%s", err, out, object)
	}
}

// space ensures that the namespace is there.
func space(t *testing.T) {
	t.Helper()
	apply(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+namespace+`"}}`)
}

// shared returns a template of pods that see the folders and the processes of this machine, so
// that a test has sight of the agents beside the driver.
func shared() string {
	folders := []string{os.TempDir(), os.Getenv(programVariable)}
	var volumes, mounts []map[string]any
	for i, folder := range folders {
		name := fmt.Sprintf("host-%d", i)
		volumes = append(volumes, map[string]any{"name": name, "hostPath": map[string]string{"path": folder}})
		mounts = append(mounts, map[string]any{"name": name, "mountPath": folder})
	}
	return string(must(json.Marshal(map[string]any{"spec": map[string]any{
		"hostPID": true, "volumes": volumes, "containers": []any{map[string]any{"name": "agent", "volumeMounts": mounts}},
	}})))
}

// idOf names the city of a folder.
func idOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:6])
}

// config returns the driver's of one city.
func config(dir string) k8s.Config {
	return k8s.Config{
		ID: idOf(dir), Place: "pty", Program: program("gc"),
		Settings: k8s.Settings{Image: image, PullPolicy: "IfNotPresent", CPURequest: "10m", MemRequest: "16Mi", CPULimit: "2", MemLimit: "1Gi"},
	}
}

func open(t *testing.T, cfg k8s.Config) *k8s.Provider {
	t.Helper()
	space(t)
	return reopen(t, cfg)
}

// reopen is open where the cluster does not answer.
func reopen(t *testing.T, cfg k8s.Config) *k8s.Provider {
	t.Helper()
	p, err := k8s.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// pods lists those of a city, with their phases.
func pods(t *testing.T, id string) string {
	t.Helper()
	return kubectl(t, "get", "pods", "-n", namespace, "-l", "gc-city="+id, "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.phase}{"\n"}{end}`)
}

// eventually waits until ask is content.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for !ask() {
		pause := time.NewTimer(200 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			t.Fatalf("%s did not come within %v", what, waitLimit)
		}
	}
}

// agent returns a fake agent that is copied into the pod's folder.
func agent(flags ...string) runtime.Config {
	return runtime.Config{
		Command:           "exec ./fakeagent " + strings.Join(flags, " "),
		CopyFiles:         []runtime.CopyEntry{{Src: program("fakeagent"), RelDst: "fakeagent"}},
		ReadyPromptPrefix: "❯",
	}
}
