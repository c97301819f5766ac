package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// An agent whose working directory is on a persistent volume is who it was after its pod was
// deleted, and after it was evicted: the same session goes on with the same conversation.
func TestConversationOutlivesItsPod(t *testing.T) {
	requireCluster(t)
	c, dir := newTalker(t)
	for epoch, end := range []func(name string){
		func(name string) { kubectl(t, "delete", "pod", "-n", namespace, name, "--grace-period=1") },
		func(name string) { evict(t, name) },
		nil,
	} {
		eventually(t, "the agent", func() bool {
			status, err := c.client.Status(t.Context())
			return err == nil && len(status.Agents) == 1 && status.Agents[0].State == client.StateRunning && int(status.Agents[0].Epoch) == epoch+1
		})
		if err := c.promptAndWait("one", fmt.Sprintf("prompt %d", epoch)); err != nil {
			t.Fatal(err)
		}
		if end != nil {
			end(podOf(t, "one"))
		}
	}
	starts := ledger.Of(must(ledger.Read(filepath.Join(dir, "ledger"))), ledger.Start)
	if len(starts) != 3 || starts[0].Conversation == "" {
		t.Fatalf("it was started as %+v", starts)
	}
	for i, r := range starts {
		if r.Conversation != starts[0].Conversation || r.Turns != i {
			t.Errorf("start %d goes on with conversation %s of %d turns, the first began %s", i+1, r.Conversation, r.Turns, starts[0].Conversation)
		}
	}
}

// newTalker makes a town of one agent whose working directory is the returned one on this machine, on a
// claim, with a ledger and conversations that it resumes.
func newTalker(t *testing.T) (*podCity, string) {
	t.Helper()
	dir, claim := newClaim(t)
	return openPodCity(t, fmt.Sprintf("[providers.talker]\ncommand = \"./fakeagent\"\nargs = [\"--osc7501\", \"--conversations\", \"talks\", \"--ledger\", \"ledger\"]\nready_prompt_prefix = \"❯\"\n"+
		"resume_flag = \"--resume\"\nresume_style = \"flag\"\nsession_id_flag = \"--session-id\"\n[[agents]]\nname = \"one\"\nprovider = \"talker\"\n"+
		"pre_start = [\"mkdir -p talks; ln -sf /gc/bin/gc fakeagent\"]\n[agents.env]\nGC_K8S_PULL_POLICY = \"IfNotPresent\"\nGC_K8S_CLAIM = %q\n", claim)), dir
}

// newClaim makes a directory of this machine a volume, and returns it with the name of its claim.
func newClaim(t *testing.T) (dir, claim string) {
	t.Helper()
	space(t)
	dir = must(os.MkdirTemp("/tmp", "gcv-")) //nolint:usetesting // it is open to the pod's user
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // see above
		t.Fatal(err)
	}
	claim = filepath.Base(dir)
	apply(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":%[1]q},"spec":{"capacity":{"storage":"1Gi"},`+
		`"accessModes":["ReadWriteOnce"],"persistentVolumeReclaimPolicy":"Retain","storageClassName":"","hostPath":{"path":%[2]q},"claimRef":{"namespace":%[3]q,"name":%[1]q}}}`, claim, dir, namespace))
	apply(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":%[1]q,"namespace":%[2]q},"spec":{"accessModes":["ReadWriteOnce"],`+
		`"storageClassName":"","resources":{"requests":{"storage":"1Gi"}}}}`, claim, namespace))
	return dir, claim
}

func podOf(t *testing.T, agent string) string {
	t.Helper()
	return kubectl(t, "get", "pods", "-n", namespace, "-l", "gc-agent="+agent, "-o", "jsonpath={.items[0].metadata.name}")
}

// evict asks the cluster to take a pod away, as the drain of its node does.
func evict(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "eviction")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":%q}}`, name, namespace), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "create", "-f", file, "--raw", "/api/v1/namespaces/"+namespace+"/pods/"+name+"/eviction")
}
