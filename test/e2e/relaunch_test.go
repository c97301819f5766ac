package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// TestRequestsForThePreviousInstanceAreRefusedAfterARelaunch has a prompt that waits
// for a draft in the input box, and relaunches the agent in its terminal. The prompt was for the previous
// instance, and so is every request that names it.
func TestRequestsForThePreviousInstanceAreRefusedAfterARelaunch(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "patrol_interval = \"500ms\"\n", []member{{name: "warm", toml: "# launch"}})
	c.start()
	before := agentIn(c.await("running", running), "warm")
	done, err := c.client.Keys(t.Context(), "warm", client.KeysRequest{Keys: []string{"d", "r", "a", "f", "t"}, Instance: before.Instance})
	accept(t, done, err)
	pause(time.Second)
	queued, err := c.client.Nudge(t.Context(), "warm", client.NudgeRequest{Text: "for the previous one"})
	if err != nil {
		t.Fatal(err)
	}
	c.await("holding the prompt", func(client.Status) bool {
		r, err := c.client.Receipt(t.Context(), queued.ID, "")
		return err == nil && r.State == client.ReceiptQueued
	})
	c.change("# launch", drifted)
	c.renewed(t, "warm", before.PID)
	after := agentIn(c.await("running", running), "warm")
	events, err := c.client.PastEvents(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	warm := false
	for _, e := range events.Events {
		warm = warm || e.Kind == "session.relaunched"
	}
	if !warm || after.Instance == before.Instance || after.Epoch != before.Epoch+1 {
		t.Fatalf("relaunched in its terminal: %v; it is %s of %d, it was %s of %d", warm, after.Instance, after.Epoch, before.Instance, before.Epoch)
	}
	former := client.LifecycleRequest{Instance: before.Instance}
	for name, order := range map[string]func() error{
		"kill":  func() error { _, err := c.client.Kill(t.Context(), "warm", former); return err },
		"drain": func() error { _, err := c.client.Drain(t.Context(), "warm", former); return err },
		"nudge": func() error {
			_, err := c.client.Nudge(t.Context(), "warm", client.NudgeRequest{Text: "too late", Instance: before.Instance})
			return err
		},
	} {
		if err := order(); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s for the previous instance: %v", name, err)
		}
	}
	r, err := c.client.Receipt(t.Context(), queued.ID, client.ReceiptConsumed)
	if err != nil || r.State != client.ReceiptDead {
		t.Errorf("the prompt for the previous one is %s: %s (%v)", r.State, r.Reason, err)
	}
	nudge(t, c, "warm", "for the present one")
	prompts := ledger.Of(c.records(t, "warm"), ledger.Prompt)
	if len(prompts) != 1 || prompts[0].Text != "for the present one" {
		t.Errorf("the agents were prompted %+v", prompts)
	}
	c.kill()
	c.start()
	if again := agentIn(c.await("running", running), "warm"); again.PID != after.PID || again.Instance != after.Instance || again.Epoch != after.Epoch {
		t.Errorf("another controller finds %s of %d, process %d", again.Instance, again.Epoch, again.PID)
	}
	c.stop()
}

// TestRelaunchedAgentHasTheEnvironmentOfItsUpstream changes the upstream of an agent:
// the agent that is started in the same terminal has the variables and the credential of the new
// upstream and none of the previous one, and no command line ever shows a credential.
func TestRelaunchedAgentHasTheEnvironmentOfItsUpstream(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry-2b8e"
	outside := t.TempDir()
	environ := filepath.Join(outside, "environ")
	var toml strings.Builder
	toml.WriteString("patrol_interval = \"500ms\"\ndrift_drain_timeout = \"1s\"\n")
	for _, name := range []string{"first", "second"} {
		file := filepath.Join(outside, name)
		if err := os.WriteFile(file, []byte(canary+"-"+name), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&toml, "[upstreams.%s]\napi_key = \"file:%s\"\nenv = { LEVEL = %q, ONLY_%s = \"1\" }\n", name, file, name, strings.ToUpper(name))
	}
	c := newCityOf(t, toml.String(), []member{{name: "warm", flags: "--print-env-to " + environ, toml: "provider = \"claude\"\nupstream = \"first\""}})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var shown sync.Map
	group.Go(func() { watchCommandLines(ctx, canary, &shown) })
	c.start()
	before := agentIn(c.await("running", running), "warm")
	c.change(`upstream = "first"`, `upstream = "second"`)
	c.await("relaunched", func(s client.Status) bool {
		a := agentIn(s, "warm")
		return a.State == client.StateRunning && a.PID != 0 && a.PID != before.PID
	})
	nudge(t, c, "warm", "hello")
	text, err := os.ReadFile(environ)
	if err != nil {
		t.Fatal(err)
	}
	got := "\x00" + string(text)
	for _, want := range []string{"LEVEL=second", "ONLY_SECOND=1", canary + "-second", "GC_RUNTIME_EPOCH=2", "TERM=xterm-256color"} {
		if !strings.Contains(got, want+"\x00") {
			t.Errorf("the relaunched agent has no %s", want)
		}
	}
	for _, former := range []string{"ONLY_FIRST", canary + "-first"} {
		if strings.Contains(got, former) {
			t.Errorf("the relaunched agent has %s of the previous upstream", former)
		}
	}
	events, err := c.client.PastEvents(t.Context(), 0)
	if err != nil || !slices.ContainsFunc(events.Events, func(e client.Event) bool { return e.Kind == "session.relaunched" }) {
		t.Errorf("it was not started again in its terminal (%v)", err)
	}
	cancel()
	group.Wait()
	shown.Range(func(line, _ any) bool {
		t.Errorf("a command line shows the credential: %q", line)
		return true
	})
	c.searches(t, c.shimsDir(t), []string{canary})
	c.stop()
	c.searches(t, c.root, []string{canary})
}
