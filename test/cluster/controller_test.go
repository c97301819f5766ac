package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

const (
	manifests       = "../../deploy/kubernetes/controller.yaml"
	controllerImage = "docker.io/test/gc:1"
	homeVariable    = "CLUSTER_HOME" // what the cluster was made of
)

// loadImage makes the controller's image of the tier's programs, as deploy/Dockerfile
// does it of Debian's.
func loadImage(t *testing.T) {
	t.Helper()
	home, dir := os.Getenv(homeVariable), t.TempDir()
	script := `set -e; cp -a "$1/rootfs/small" "$2/root"; mkdir -p "$2/root/usr/local/bin"; cp "$3" "$2/root/usr/local/bin/gc"; chmod 755 "$2/root"
		"$1/bin/kit" image -o "$2/gc.tar" -t ` + controllerImage + ` -env PATH=/usr/local/bin:/usr/bin:/bin -user 1000:1000 "$2/root"
		"$1/runtime/usr/bin/ctr" -n k8s.io images import --snapshotter "${SNAPSHOTTER:-overlayfs}" "$2/gc.tar"`
	if out, err := osexec.CommandContext(t.Context(), "sh", "-c", script, "sh", home, dir, program("gc")).CombinedOutput(); err != nil {
		t.Fatalf("the controller's image: %v\n%s", err, out)
	}
}

// deployed is a city whose controllers are in the cluster.
type deployed struct{ *testing.T }

// deploy makes one by the manifests: only the image and its volume are the test's.
func deploy(t *testing.T, city string) deployed {
	t.Helper()
	loadImage(t)
	space(t)
	volume := must(os.MkdirTemp("/tmp", "gcv-")) //nolint:usetesting // pods have it
	t.Cleanup(func() {
		if err := os.RemoveAll(volume); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(volume, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), client.CityFile)
	if err := os.WriteFile(file, []byte(city), 0o600); err != nil {
		t.Fatal(err)
	}
	apply(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":%q},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],`+
		`"persistentVolumeReclaimPolicy":"Retain","hostPath":{"path":%q},"claimRef":{"namespace":%q,"name":"city"}}}`, filepath.Base(volume), volume, namespace))
	kubectl(t, "create", "configmap", "city", "-n", namespace, "--from-file", file)
	text := string(must(os.ReadFile(manifests)))
	apply(t, strings.Replace(text, "image: gc:1", "image: "+controllerImage+"\n        imagePullPolicy: IfNotPresent", 1))
	t.Cleanup(func() {
		for _, args := range [][]string{
			{"delete", "deployment", "gc", "-n", namespace, "--cascade=foreground", "--timeout=60s"},
			{"delete", "pods", "-n", namespace, "--all", "--grace-period=1"},
			{"delete", "pvc,configmap", "city", "-n", namespace, "--timeout=30s"},
			{"delete", "pv", filepath.Base(volume), "--timeout=30s"},
			{"delete", "lease", "gc", "-n", namespace},
		} {
			if out, err := osexec.CommandContext(context.WithoutCancel(t.Context()), "kubectl", args...).CombinedOutput(); err != nil {
				t.Errorf("kubectl %v: %v\n%s", args, err, out)
			}
		}
	})
	return deployed{t}
}

// leader returns the pod that holds the lease, empty if none does.
func (d deployed) leader() string {
	out, _ := osexec.CommandContext(d.Context(), "kubectl", "get", "lease", "gc", "-n", namespace, "-o", "jsonpath={.spec.holderIdentity}").Output() // none yet, at first
	pod, _, _ := strings.Cut(string(out), "_")
	return pod
}

// gc runs a command beside the leader.
func (d deployed) gc(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.Context()), waitLimit)
	defer cancel()
	args = append([]string{"exec", "-n", namespace, d.leader(), "--", "gc"}, args...)
	out, err := osexec.CommandContext(ctx, "kubectl", args...).CombinedOutput()
	return string(out), err
}

// status returns the controller's, an error while there is none.
func (d deployed) status() (client.Status, error) {
	var s client.Status
	out, err := d.gc("status", "--json")
	if err != nil {
		return s, fmt.Errorf("%w: %s", err, out)
	}
	return s, json.Unmarshal([]byte(out), &s)
}

// kill ends a pod's controller process, and reports whether there was one.
func (d deployed) kill(pod string) bool {
	for _, pid := range running("gc", "controller", "run") {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // it may have ended
		if strings.Contains(string(env), "HOSTNAME="+pod+"\x00") {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}

// promptAndWait gives a prompt and waits until it was taken, whatever becomes of the controllers.
func (d deployed) promptAndWait(ctx context.Context, agent, text string) error {
	for {
		out, err := d.gc("nudge", agent, text, "--key", text, "--wait", "submitted", "--json")
		var r client.Receipt
		if json.Unmarshal([]byte(out), &r) == nil && (r.State == client.ReceiptSubmitted || r.State == client.ReceiptConsumed) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%q: %w: %w: %s", text, ctx.Err(), err, out)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// The controller of the manifests starts the city in pods. When its process is killed the
// other one takes over in less than 15 s; no agent ends, and each prompt is taken once.
func TestAControllerInTheCluster(t *testing.T) {
	requireCluster(t)
	const prompts, kills = 16, 2
	d := deploy(t, fmt.Sprintf("[workspace]\nname = \"town\"\n[session]\nprovider = \"k8s\"\nstartup_timeout = \"2m\"\n[session.k8s]\nimage = %q\ncpu_request = \"10m\"\nmem_request = \"16Mi\"\n"+
		"[[agents]]\nname = \"one\"\nstart_command = \"exec ./fakeagent --ledger ledger\"\nready_prompt_prefix = \"❯\"\npre_start = [\"ln -sf /gc/bin/gc fakeagent\"]\n[agents.env]\nGC_K8S_PULL_POLICY = \"IfNotPresent\"\n", image))
	runs := func() bool {
		s, err := d.status()
		return err == nil && len(s.Agents) == 1 && s.Agents[0].State == client.StateRunning
	}
	eventually(t, "the agent", runs)
	first, err := d.status()
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	failures := make(chan error, prompts)
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range prompts {
			if err := d.promptAndWait(ctx, "one", fmt.Sprintf("prompt %d.", i)); err != nil {
				failures <- err
			}
		}
	})
	for range kills {
		<-time.After(time.Second)
		before := d.leader()
		began := time.Now()
		if !d.kill(before) {
			t.Fatalf("%s has no process of the controller", before)
		}
		eventually(t, "the next controller", func() bool { _, err := d.status(); return d.leader() != before && err == nil })
		took := time.Since(began)
		t.Logf("the next controller answers %s after the end of %s", took.Round(100*time.Millisecond), before)
		if took > 15*time.Second {
			t.Errorf("the next controller came after %s", took)
		}
		eventually(t, "the agent", runs)
	}
	sending.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	after, err := d.status()
	if err != nil || after.Agents[0].Instance != first.Agents[0].Instance || after.Agents[0].Restarts != 0 {
		t.Errorf("the agent was %+v and is %+v, %v", first.Agents, after.Agents, err)
	}
	var taken []ledger.Record
	for _, pid := range running("./fakeagent", "--ledger") {
		all, err := ledger.Read(fmt.Sprintf("/proc/%d/root/city/ledger", pid))
		if err != nil {
			t.Fatal(err)
		}
		taken = ledger.Of(all, ledger.Prompt)
	}
	for i := range prompts {
		n := 0
		for _, r := range taken {
			if r.Text == fmt.Sprintf("prompt %d.", i) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("prompt %d was taken %d times of %d records", i, n, len(taken))
		}
	}
}
