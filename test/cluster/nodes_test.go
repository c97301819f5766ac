package cluster_test

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// nodesVariable says how many nodes the cluster has.
const nodesVariable = "CLUSTER_NODES"

// Of two nodes, the one that is drained gives its agent to the other one; the one that is lost keeps it: of
// an agent there nothing is known, it is ended nowhere and started nowhere else, and when the node is back
// it is the same one.
func TestTwoNodes(t *testing.T) {
	requireCluster(t)
	if os.Getenv(nodesVariable) != "2" {
		t.Skip("the cluster has one node: CLUSTER_NODES=2 makes another one")
	}
	c, dir := newTalker(t)
	one := func() client.Agent {
		status, err := c.client.Status(t.Context())
		if err != nil || len(status.Agents) != 1 {
			return client.Agent{}
		}
		return status.Agents[0]
	}
	running := func(epoch int) func() bool {
		return func() bool { return one().State == client.StateRunning && int(one().Epoch) == epoch }
	}
	at := func() string {
		return kubectl(t, "get", "pods", "-n", namespace, "-l", "gc-agent=one", "-o", "jsonpath={.items[*].spec.nodeName}")
	}
	eventually(t, "the agent", running(1))
	if err := c.promptAndWait("one", "on the first node"); err != nil {
		t.Fatal(err)
	}
	first := at()
	kubectl(t, "drain", first, "--force", "--delete-emptydir-data", "--pod-selector=gc-agent=one")
	eventually(t, "the agent elsewhere", running(2))
	second := at()
	if second == first {
		t.Fatalf("after the drain of %s it is at %s", first, second)
	}
	if err := c.promptAndWait("one", "on the second node"); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "uncordon", first)

	before, own := one(), "kubelet"
	if second != node {
		own += "2"
	}
	if err := syscall.Kill(component(t, own), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resumed := false
	resume := func() {
		if !resumed {
			resumed = true
			_ = syscall.Kill(component(t, own), syscall.SIGCONT) // it stands still
		}
	}
	t.Cleanup(resume)
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	for ready := "True"; ready != "Unknown"; {
		out, err := osexec.CommandContext(ctx, "kubectl", "get", "node", second, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`).Output()
		if err != nil {
			t.Fatalf("the cluster does not miss its node: %v", err)
		}
		ready = string(out)
	}
	eventually(t, "the doubt", func() bool { return one().State == client.StateUnknown })
	t.Logf("a lost node:\n%s%s", c.gc("status"), c.gc("explain", "-v", "one"))
	lost, wait := c.client.Nudge(t.Context(), "one", client.NudgeRequest{Text: "while it is lost", Key: "lost"})
	if wait != nil {
		t.Errorf("a prompt for it: %v", wait)
	}
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); <-time.After(time.Second) {
		if now := one(); now.Epoch != before.Epoch || now.State != client.StateUnknown {
			t.Fatalf("of a node that is lost it is known that the agent is %s, epoch %d", now.State, now.Epoch)
		}
	}
	if pods := strings.Fields(at()); len(pods) != 1 {
		t.Errorf("there are pods at %s", pods)
	}
	resume()
	eventually(t, "the agent that was lost", func() bool {
		now := one()
		return now.State == client.StateRunning && now.Instance == before.Instance
	})
	eventually(t, "what was sent meanwhile", func() bool {
		return must(c.client.Receipt(t.Context(), lost.ID, "")).State == client.ReceiptConsumed
	})
	starts := ledger.Of(must(ledger.Read(filepath.Join(dir, "ledger"))), ledger.Start)
	if len(starts) != 2 || starts[0].Conversation != starts[1].Conversation || starts[1].Turns != 1 {
		t.Errorf("it was started as %s", fmt.Sprintf("%+v", starts))
	}
}
