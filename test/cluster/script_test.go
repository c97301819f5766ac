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

// A person's terminal at a session of the script, when it is lost instead of detached, is not attached any more.
func TestSessionScriptTerminal(t *testing.T) {
	requireCluster(t)
	needs(t, "jq")
	needs(t, "tmux")
	space(t)
	script := must(filepath.Abs("../../contrib/session-scripts/gc-session-k8s"))
	dir := must(os.MkdirTemp("/tmp", "gcs-")) //nolint:usetesting // socket paths are short
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	pod := filepath.Join(dir, "pod.json")
	if err := os.WriteFile(pod, []byte(`{"spec":{"containers":[{"imagePullPolicy":"IfNotPresent"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(in string, argv ...string) string {
		cmd := osexec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Stdin = strings.NewReader(in)
		cmd.Env = append(os.Environ(), "GC_K8S_IMAGE="+image, "GC_K8S_NAMESPACE="+namespace, "GC_K8S_POD="+pod, "GC_EXEC_STATE_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	start := string(must(json.Marshal(map[string]any{"command": "exec bash --norc"})))
	run(start, script, "start", "one")
	attached := func(want string) func() bool {
		return func() bool { return run("", script, "is-attached", "one") == want }
	}
	tmux := []string{"tmux", "-S", filepath.Join(dir, "tmux"), "-f", "/dev/null"}
	for _, lost := range []bool{false, true} {
		run("", append(tmux, "new-session", "-d", "-x", "100", "-y", "30", "exec "+script+" attach one")...)
		eventually(t, "the terminal", attached("true"))
		if lost {
			run("", append(tmux, "kill-server")...)
		} else {
			run("", append(tmux, "send-keys", "-t", "0", "C-b", "d")...)
		}
		eventually(t, "the terminal's end", attached("false"))
	}
	left := run("", "kubectl", "exec", "-n", namespace, run("", "kubectl", "get", "pods", "-n", namespace, "-l", "app.kubernetes.io/managed-by=gc", "-o", "jsonpath={.items[0].metadata.name}"), "--", "sh", "-c", "ls -d /tmp/gc-attached-* 2>/dev/null || true")
	if left != "" {
		t.Errorf("%s is left in the pod", left)
	}
	run("", script, "stop", "one")
}
