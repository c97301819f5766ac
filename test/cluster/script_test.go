package cluster_test

import (
	"context"
	"encoding/json"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The session script for Kubernetes is a provider like any other, with the cluster's own kubectl
// and an image of a shell, tmux and awk. Its pods share the folder that the check's agents write to.
func TestSessionScript(t *testing.T) {
	requireCluster(t)
	needs(t, "jq")
	space(t)
	script := must(filepath.Abs("../../contrib/session-scripts/gc-session-k8s"))
	pod := filepath.Join(t.TempDir(), "pod.json")
	if err := os.WriteFile(pod, must(json.Marshal(map[string]any{"spec": map[string]any{
		"hostPID": true, "terminationGracePeriodSeconds": 2,
		"volumes": []any{map[string]any{"name": "shared", "hostPath": map[string]string{"path": os.TempDir()}}},
		"containers": []any{map[string]any{
			"imagePullPolicy": "IfNotPresent", "volumeMounts": []any{map[string]string{"name": "shared", "mountPath": os.TempDir()}},
		}},
	}})), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	check := osexec.CommandContext(ctx, program("gc"), "provider", "check", "exec:"+script)
	check.Dir = t.TempDir()
	check.Env = append(os.Environ(), "GC_K8S_IMAGE="+image, "GC_K8S_NAMESPACE="+namespace, "GC_K8S_POD="+pod, "GC_EXEC_STATE_DIR="+t.TempDir())
	out, err := check.CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 0 failed") {
		t.Errorf("gc provider check: %v\n%s", err, out)
	}
	if left := kubectl(t, "get", "pods", "-n", namespace, "-l", "app.kubernetes.io/managed-by=gc", "-o", "name"); left != "" {
		t.Errorf("%s is left", left)
	}
}
