package e2e

import (
	"context"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// TestTwoCitiesAreIsolated runs two cities with the same agent names and with names of the same prefix,
// and disturbs one of them. The other one must not change.
func TestTwoCitiesAreIsolated(t *testing.T) {
	members := []member{{name: "worker-1"}, {name: "worker-10"}}
	ours, theirs := newCityOf(t, "", members), newCityOf(t, "", members)
	ours.start()
	theirs.start()
	ours.await("running", running)
	before := pids(theirs.await("running", running))
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	sibling := pids(ours.await("running", running))["worker-10"]
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				_, _ = ours.client.Kill(ctx, "worker-1", client.LifecycleRequest{}) // several at once: some find it gone
				_, _ = ours.client.Nudge(ctx, "worker-1", client.NudgeRequest{Text: "for worker-1 of ours"})
				_, _ = ours.client.Drain(ctx, "worker-1", client.LifecycleRequest{Timeout: 100 * time.Millisecond})
				_, _ = ours.client.Wake(ctx, "worker-1", client.LifecycleRequest{})
				_, _ = ours.client.Reset(ctx, "worker-1", client.LifecycleRequest{})
			}
		})
	}
	group.Wait()
	if now := pids(ours.await("there", func(s client.Status) bool { return len(s.Agents) == 2 }))["worker-10"]; now != sibling {
		t.Errorf("worker-10 was process %d and is %d: it was hit by what was meant for worker-1", sibling, now)
	}
	if diff := cmp.Diff(before, pids(theirs.await("running", running))); diff != "" {
		t.Errorf("the other city was touched (-before +after):\n%s", diff)
	}
	for _, agent := range []string{"worker-1", "worker-10"} {
		if records, err := ledger.Read(theirs.ledgerOf(agent)); err != nil || len(ledger.Prompts(records)) > 0 || len(ledger.Of(records, ledger.Start)) != 1 {
			t.Errorf("%s of the other city got prompts or was started again: %v", agent, err)
		}
	}
	if records, err := ledger.Read(ours.ledgerOf("worker-10")); err != nil || len(ledger.Prompts(records)) > 0 {
		t.Errorf("worker-10 got a prompt for worker-1: %v", err)
	}
	if census := ours.stop(); !census.Clean {
		t.Errorf("census %+v", census)
	}
	if diff := cmp.Diff(before, pids(theirs.await("running", running))); diff != "" {
		t.Errorf("the other city was touched by the stop (-before +after):\n%s", diff)
	}
	theirs.stop()
}

// TestSuspendOfTheCityStopsNoAgent stops the controller and all agents for some time, as a suspend of the
// machine does. Afterwards no agent was stopped, and no problem is shown.
func TestSuspendOfTheCityStopsNoAgent(t *testing.T) {
	c := newCityOf(t, "patrol_interval = \"1s\"\n", []member{
		{name: "quiet", toml: "idle_timeout = \"1h\"\nmax_session_age = \"5h\""},
		{name: "reports", flags: "--osc7501", toml: "idle_timeout = \"1h\""},
		{name: "plain"},
	})
	c.start()
	before := pids(c.await("running", running))
	frozen := []int{c.cmd.Process.Pid}
	for _, pid := range before {
		frozen = append(frozen, pid)
	}
	frozen = append(frozen, c.shims(t)...)
	mark := c.lastEvent(t)
	for _, pid := range frozen {
		send(t, pid, syscall.SIGSTOP)
	}
	pause(8 * time.Second)
	for _, pid := range frozen {
		send(t, pid, syscall.SIGCONT)
	}
	pause(3 * time.Second) // three patrols
	if diff := cmp.Diff(before, pids(c.await("running", running))); diff != "" {
		t.Errorf("agents were ended (-before +after):\n%s", diff)
	}
	events, err := c.client.PastEvents(t.Context(), mark)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Events {
		for _, bad := range []string{"session.stopping", "session.exited", "session.lost", "session.starting", "pending.raised", "session.quarantined"} {
			if e.Kind == bad {
				t.Errorf("after the freeze: %+v", e)
			}
		}
	}
	c.stop()
}

func (c *city) lastEvent(t *testing.T) uint64 {
	t.Helper()
	page, err := c.client.PastEvents(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return page.Last
}

func send(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Errorf("cannot send %v to %d: %v", sig, pid, err)
	}
}

// TestCityContinuesAfterAReboot kills all processes of a city at once, as a power failure does, and
// removes the runtime directory. The next start starts all agents, and every waiting prompt has a receipt.
func TestCityContinuesAfterAReboot(t *testing.T) {
	c := newCityOf(t, "", []member{{name: "one", talks: true}, {name: "two"}})
	c.start()
	before := pids(c.await("running", running))
	nudge(t, c, "one", "remember the seven")
	r, err := c.client.Nudge(t.Context(), "two", client.NudgeRequest{Text: "[[busy:10m]]", Wait: client.ReceiptSubmitted})
	if err != nil {
		t.Fatal(err)
	}
	victims := append(c.shims(t), c.cmd.Process.Pid)
	for _, pid := range before {
		victims = append(victims, pid)
	}
	for _, pid := range victims {
		_ = syscall.Kill(pid, syscall.SIGKILL) // some end because another one did
	}
	if err := <-c.ended; err == nil {
		t.Error("a killed controller ended in order")
	}
	if err := os.RemoveAll(c.shimsDir(t)); err != nil {
		t.Fatal(err)
	}
	c.start()
	after := pids(c.await("running", running))
	for agent, pid := range after {
		if pid == before[agent] {
			t.Errorf("%s is still process %d", agent, pid)
		}
	}
	if r, err = c.client.Receipt(t.Context(), r.ID, ""); err != nil || !r.Ended() {
		t.Errorf("the receipt of before the power cut: %+v, %v; want an end", r, err)
	}
	records, err := ledger.Read(c.ledgerOf("one"))
	if err != nil {
		t.Fatal(err)
	}
	starts := ledger.Of(records, ledger.Start)
	if len(starts) != 2 || starts[0].Conversation == "" || starts[0].Conversation != starts[1].Conversation || starts[1].Turns != 1 {
		t.Errorf("the conversation was not resumed: %+v", starts)
	}
	for _, a := range c.await("running", running).Agents {
		if a.Epoch != 2 {
			t.Errorf("%s is instance %d, want 2", a.Name, a.Epoch)
		}
	}
	c.stop()
}
