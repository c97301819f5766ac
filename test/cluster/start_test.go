package cluster_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/provider/k8s"
	"gascity/runtime"
)

// One agent from its start to its end, as a user of the defaults has it: not root, nothing
// writable but its folders.
func TestOneLife(t *testing.T) {
	requireCluster(t)
	cfg := config(t.Name())
	p := open(t, cfg)
	start := agent()
	start.Env = map[string]string{"SECRET": "canary-4711", "GC_ALIAS": "worker"}
	start.SessionLive = []string{"id -u >who; touch /etc/x 2>denied || true; grep CapEff /proc/self/status >>who"}
	if err := p.Start(t.Context(), "worker_1", start); err != nil {
		t.Fatal(err)
	}
	obs, err := runtime.Observe(t.Context(), p, "worker_1")
	if err != nil || obs.Session != runtime.Alive || obs.Agent != runtime.Alive || obs.InstanceToken == "" {
		t.Errorf("Observe = %+v, %v", obs, err)
	}
	for _, object := range []string{"pods", "secrets", "events", "configmaps"} {
		if said := kubectl(t, "get", object, "-n", namespace, "-o", "yaml"); strings.Contains(said, "canary-4711") || strings.Contains(said, obs.InstanceToken) {
			t.Errorf("a secret is in the cluster's %s", object)
		}
	}
	name := strings.Fields(pods(t, cfg.ID))[0]
	who := kubectl(t, "exec", "-n", namespace, name, "-c", "agent", "--", "sh", "-c", "cat /workspace/who /workspace/denied")
	if !strings.HasPrefix(who, "1000\n") || !strings.Contains(who, "CapEff:\t0000000000000000") || !strings.Contains(who, "Read-only file system") {
		t.Errorf("the agent is %q", who)
	}
	o, err := runtime.Deliver(t.Context(), p, "worker_1", runtime.Delivery{Content: []runtime.ContentBlock{{Type: runtime.ContentText, Text: "hello pod"}}})
	if err != nil || o.State != runtime.OutcomeSubmitted {
		t.Errorf("Deliver = %+v, %v", o, err)
	}
	eventually(t, "the prompt on the screen", func() bool {
		text, err := p.Peek("worker_1", 0)
		return err == nil && strings.Contains(text, "hello pod")
	})
	copyInto(t, p, name)
	if err := p.Stop("worker_1"); err != nil {
		t.Error(err)
	}
	if left := pods(t, cfg.ID); left != "" {
		t.Errorf("pods are left: %s", left)
	}
}

// copyInto copies a folder of this machine into the agent's.
func copyInto(t *testing.T, p *k8s.Provider, pod string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "sub"), 0o755), os.WriteFile(filepath.Join(dir, "sub", "a"), []byte(strings.Repeat("x", 3<<20)), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := p.CopyTo("worker_1", dir, "in"); err != nil {
		t.Errorf("CopyTo = %v", err)
	}
	if size := kubectl(t, "exec", "-n", namespace, pod, "-c", "agent", "--", "sh", "-c", "cat /workspace/in/sub/a /workspace/in/data/sub/a 2>/dev/null | wc -c"); size != "3145728" {
		t.Errorf("%s bytes arrived", size)
	}
}

// Each start that cannot succeed says why in the cluster's words, and leaves nothing.
func TestStartsThatFail(t *testing.T) {
	requireCluster(t)
	space(t)
	apply(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"gc-full"}}`)
	apply(t, `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"none","namespace":"gc-full"},"spec":{"hard":{"pods":"0"}}}`)
	apply(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"gc-strict","labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	for name, c := range map[string]struct {
		edit func(*k8s.Config, *runtime.Config)
		want error
		says string
	}{
		"unschedulable": {func(c *k8s.Config, _ *runtime.Config) {
			c.NodeSelector, c.Limits.Schedule = `{"disk":"of-gold"}`, 3*time.Second
		}, k8s.ErrUnschedulable, "didn't match"},
		"missing":   {func(c *k8s.Config, _ *runtime.Config) { c.Image = "127.0.0.1:9/none:1" }, k8s.ErrImagePull, "127.0.0.1:9"},
		"never":     {func(c *k8s.Config, _ *runtime.Config) { c.Image, c.PullPolicy = "docker.io/test/none:1", "Never" }, k8s.ErrImageNever, "none:1"},
		"bad-image": {func(c *k8s.Config, _ *runtime.Config) { c.Image = "no such image!" }, k8s.ErrBadImage, "no such image!"},
		"no-image":  {func(c *k8s.Config, _ *runtime.Config) { c.Image = "" }, k8s.ErrNoImage, "GC_K8S_IMAGE"},
		"crash": {func(c *k8s.Config, _ *runtime.Config) {
			c.Template = `{"spec":{"restartPolicy":"Always","initContainers":[{"name":"broken","image":"` + image + `","command":["false"]}]}}`
		}, k8s.ErrCrashLoop, "broken"},
		"memory": {func(c *k8s.Config, _ *runtime.Config) {
			c.Template = `{"spec":{"initContainers":[{"name":"eater","image":"` + image + `","command":["sh","-c","exec tail /dev/zero"],"resources":{"limits":{"memory":"16Mi"}}}]}}`
		}, k8s.ErrOutOfMemory, "eater"},
		"quota":     {func(c *k8s.Config, _ *runtime.Config) { c.Namespace = "gc-full" }, k8s.ErrQuota, "none"},
		"security":  {func(c *k8s.Config, _ *runtime.Config) { c.Namespace, c.Root = "gc-strict", true }, k8s.ErrNotAdmitted, "PodSecurity"},
		"namespace": {func(c *k8s.Config, _ *runtime.Config) { c.Namespace = "gc-nowhere" }, k8s.ErrNoNamespace, "gc-nowhere"},
		"death":     {func(_ *k8s.Config, cfg *runtime.Config) { cfg.Command = "echo no licence; exit 7" }, runtime.ErrSessionDiedDuringStartup, "no licence"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, start := config(t.Name()), agent()
			c.edit(&cfg, &start)
			p := open(t, cfg)
			ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
			defer cancel()
			began := time.Now()
			err := p.Start(ctx, "a", start)
			t.Logf("after %v: %v", time.Since(began).Round(100*time.Millisecond), err)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Start = %v, want %v with %q", err, c.want, c.says)
			}
			if left := kubectl(t, "get", "pods", "-A", "-l", "gc-city="+cfg.ID, "-o", "name"); left != "" {
				t.Errorf("%s is left", left)
			}
		})
	}
}
