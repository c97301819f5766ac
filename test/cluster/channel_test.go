package cluster_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakecodex"
)

// codexCity is a city whose agent is a stand-in for codex in a pod.
type codexCity struct {
	*podCity

	log string // the stand-in's, on this machine
}

// newCodexCity starts a city with the agent "worker" and waits until its prompts go through the channel.
func newCodexCity(t *testing.T) *codexCity {
	t.Helper()
	dir, claim := newClaim(t)
	c := &codexCity{openPodCity(t, fmt.Sprintf("[guard]\nsets = [\"dangerous-command\"]\n[[agents]]\nname = \"worker\"\nprovider = \"codex\"\noverlay_dir = \"files\"\n"+
		"pre_start = [\"mkdir -p /gc-home/bin; ln -sf $PWD/cluster.test /gc-home/bin/codex\"]\n"+
		"[agents.env]\nPATH = \"/gc-home/bin:/usr/bin:/bin\"\n%s = \"codex.log\"\nGC_K8S_PULL_POLICY = \"IfNotPresent\"\nGC_K8S_CLAIM = %q\n", fakecodex.LogVariable, claim),
		"cluster.test"), filepath.Join(dir, "codex.log")}
	t.Cleanup(c.report)
	eventually(t, "the channel", c.native)
	return c
}

// report logs what is known about the agent of a failed test.
func (c *codexCity) report() {
	if c.Failed() && !c.stopped {
		c.Logf("%s\n%s\n%s\n%.20000s", c.gc("status"), c.gc("explain", "-v", "worker"), c.gc("events", "worker"), c.logged())
	}
}

// native reports whether the agent's prompts go through its channel.
func (c *codexCity) native() bool {
	e, err := c.client.Explain(c.Context(), "worker")
	return err == nil && e.Channel != nil && e.Channel.Way == client.ChannelNative
}

// logged returns the stand-in's log.
func (c *codexCity) logged() string {
	text, _ := os.ReadFile(c.log) // none at first
	return string(text)
}

// got returns those of the texts that the stand-in got, in its order.
func (c *codexCity) got(texts []string) (got []string) {
	for line := range strings.Lines(c.logged()) {
		var text string
		if raw, ok := strings.CutPrefix(line, "text "); ok && json.Unmarshal([]byte(raw), &text) == nil && slices.Contains(texts, text) {
			got = append(got, text)
		}
	}
	return got
}

// codexProcesses are the processes of an agent with a channel. Each is 0 if it does not run, and -1 if several do.
type codexProcesses struct{ channel, server, terminal int }

// codexNow returns the processes of the only stand-in that runs.
func codexNow() (p codexProcesses) {
	one := func(pids []int) int {
		if len(pids) > 1 {
			return -1
		}
		return append(pids, 0)[0]
	}
	servers := slices.DeleteFunc(running("codex"), func(pid int) bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		return !strings.Contains(string(line), "\x00app-server\x00")
	})
	return codexProcesses{one(running("/gc/bin/gc", "agent-channel", "codex")), one(servers), one(running("codex", "--remote"))}
}

// pids returns the processes that run.
func (p codexProcesses) pids() []int {
	return slices.DeleteFunc([]int{p.channel, p.server, p.terminal}, func(pid int) bool { return pid == 0 })
}

// variable returns a variable of a process's environment.
func variable(t *testing.T, pid int, name string) string {
	t.Helper()
	for pair := range strings.SplitSeq(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)))), "\x00") {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// TestCodexInAPod: gc in the pod installs the hooks and runs the native channel there. Each prompt arrives unchanged
// and once, also while the connection is lost. The hook authorizes tools, and none without a connection.
func TestCodexInAPod(t *testing.T) {
	requireCluster(t)
	c := newCodexCity(t)
	if e := c.gc("explain", "worker"); !strings.Contains(e, "by codex's server") {
		t.Errorf("gc explain says %s", e)
	}
	first := codexNow()
	if len(first.pids()) != 3 || slices.Contains(first.pids(), -1) {
		t.Fatalf("the agent is %+v", first)
	}
	token := variable(t, first.channel, "GC_INSTANCE_TOKEN")
	for _, pid := range first.pids() {
		if got := variable(t, pid, "GC_INSTANCE_TOKEN"); token == "" || got != token {
			t.Errorf("a process of %+v has the instance %q, the channel has %q", first, got, token)
		}
	}
	c.checkSocket(first.terminal)
	if said := c.logged(); !strings.Contains(said, "server /gc/outpost-") || !strings.Contains(said, " /gc/bin/gc\n") {
		t.Errorf("the channel does not use the pod's files and program:\n%s", said)
	}

	texts := []string{
		"e\u0301 \u202eRTL\u202c look at @\r\n\n! echo \\", "   begins with blanks", "ends with lines\n\n\n", "soft\u00adhyphen\u200b\ufeff", "#note",
		"$(touch made) `touch made` ' \" \t", strings.Repeat("long \u00e9 ", 12_000) + "end",
	}
	for i, text := range texts {
		if i%3 == 1 {
			cutConnections()
		}
		if err := c.promptAs(fmt.Sprint("odd ", i), text); err != nil {
			t.Error(err)
		}
	}
	if got := c.got(texts); !slices.Equal(got, texts) {
		t.Errorf("codex got %.900q, want %.900q", got, texts)
	}
	var many []string
	var sending sync.WaitGroup
	for i := range 24 {
		text := fmt.Sprintf("prompt %d @", i)
		many = append(many, text)
		sending.Go(func() {
			if err := c.promptAs(text, text); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		<-time.After(300 * time.Millisecond)
		cutConnections()
	}
	sending.Wait()
	got := c.got(many)
	slices.Sort(got)
	slices.Sort(many)
	if !slices.Equal(got, many) {
		t.Errorf("codex got %q, want each of %q once", got, many)
	}

	for _, text := range []string{"tool git push --force origin main", "tool touch file"} {
		if err := c.promptAs(text, text); err != nil {
			t.Error(err)
		}
	}
	if said := c.logged(); !strings.Contains(said, "tool denied: ") || !strings.Contains(said, "tool allowed") || strings.Contains(said, "not authorized") {
		t.Errorf("the hook decided %s", said)
	}
	c.withoutConnection()
	c.interrupt()
	if now := codexNow(); now != first {
		t.Errorf("the agent is %+v, was %+v", now, first)
	}
	c.stopAndCheck()
}

// promptAs gives a prompt with a key to the agent and waits until it has worked on it.
func (c *codexCity) promptAs(key, text string) error { return c.promptWithKey("worker", key, text) }

// send queues a prompt for the agent and returns its receipt's ID.
func (c *codexCity) send(text string) string {
	c.Helper()
	return must(c.client.Nudge(c.Context(), "worker", client.NudgeRequest{Text: text, Key: text})).ID
}

// becomes waits until a prompt has the state.
func (c *codexCity) becomes(id, state string) {
	c.Helper()
	eventually(c.T, id+" to be "+state, func() bool {
		r, err := c.client.Receipt(c.Context(), id, "")
		return err == nil && r.State == state
	})
}

// checkSocket checks that only the agent's user can reach the socket of its channel.
func (c *codexCity) checkSocket(terminal int) {
	c.Helper()
	args := strings.Split(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", terminal)))), "\x00")
	socket := strings.TrimPrefix(args[slices.Index(args, "--remote")+1], "unix://")
	folder := must(os.Stat(fmt.Sprintf("/proc/%d/root%s", terminal, filepath.Dir(socket))))
	if owner := folder.Sys().(*syscall.Stat_t).Uid; folder.Mode().Perm() != 0o700 || owner != 1000 { //nolint:forcetypeassert // on Linux
		c.Errorf("the folder of %s has the mode %v and the owner %d", socket, folder.Mode(), owner)
	}
}

// withoutConnection checks that no tool is authorized while nothing can connect the pod with its city, and that
// prompts wait for the connection.
func (c *codexCity) withoutConnection() {
	c.Helper()
	gate := c.log + fakecodex.GateSuffix
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		c.Fatal(err)
	}
	denied := strings.Count(c.logged(), "tool denied: ")
	tool := c.send("tool touch other")
	eventually(c.T, "the turn", func() bool { return len(c.got([]string{"tool touch other"})) == 1 })
	server := component(c.T, "apiserver") // without it no tunnel can be made
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGCONT) }) // it runs
	cutConnections()
	if err := os.Remove(gate); err != nil {
		c.Fatal(err)
	}
	waiting := c.send("while there is no connection @")
	eventually(c.T, "the tool's denial", func() bool { cutConnections(); return strings.Count(c.logged(), "tool denied: ") > denied })
	if got := c.got([]string{"while there is no connection @"}); len(got) > 0 {
		c.Errorf("without a connection codex got %q", got)
	}
	if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
		c.Fatal(err)
	}
	c.becomes(tool, client.ReceiptConsumed)
	c.becomes(waiting, client.ReceiptConsumed)
	if got := c.got([]string{"while there is no connection @"}); len(got) != 1 {
		c.Errorf("after the connection codex got %q", got)
	}
}

// interrupt checks that an interrupt ends the turn of a prompt, which then is not consumed.
func (c *codexCity) interrupt() {
	c.Helper()
	held := c.send("hold this @")
	c.becomes(held, client.ReceiptSubmitted)
	cutConnections()
	eventually(c.T, "the interrupt", func() bool {
		_, err := c.client.Interrupt(c.Context(), "worker", client.LifecycleRequest{})
		return err == nil
	})
	if err := c.promptAs("after", "after the interrupt @"); err != nil {
		c.Error(err)
	}
	if r := must(c.client.Receipt(c.Context(), held, "")); r.State != client.ReceiptSubmitted {
		c.Errorf("a prompt whose turn was interrupted is %s", r.State)
	}
}

// stopAndCheck checks that the city's end leaves no process and no pod, and in the working directory only the
// stand-in, its log and gc's record of the files that it copied there.
func (c *codexCity) stopAndCheck() {
	c.Helper()
	c.report()
	c.stop()
	if left := codexNow().pids(); len(left) > 0 {
		c.Errorf("after the stop run %v", left)
	}
	if left := kubectl(c.T, "get", "pods", "-n", namespace, "-l", "gc-agent=worker", "-o", "name"); left != "" {
		c.Errorf("after the stop are left %s", left)
	}
	var names []string
	err := fs.WalkDir(os.DirFS(filepath.Dir(c.log)), ".", func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		c.Error(err)
	}
	if want := []string{".", ".gc", ".gc/.gitignore", ".gc/stage.lock", ".gc/staged.json", "cluster.test", "codex.log"}; !slices.Equal(names, want) {
		c.Errorf("the volume has %q, want %q", names, want)
	}
	if left, _ := os.ReadDir(filepath.Join(c.root, ".gc", "hooks")); len(left) > 0 { // there is none
		c.Errorf("on this machine are left %v", left)
	}
}

// TestKilledCodexInAPod: whichever process of an agent with a channel is killed, all of them are replaced, the reason is
// reported, and the next prompt goes through the channel, once.
func TestKilledCodexInAPod(t *testing.T) {
	requireCluster(t)
	c := newCodexCity(t)
	var texts []string
	for _, part := range []struct {
		name, reason string
		of           func(p codexProcesses) int
	}{
		{"server", "exited with code 1, saying: gc: the agent exits: its server exited", func(p codexProcesses) int { return p.server }},
		{"terminal", "exited with code 137", func(p codexProcesses) int { return p.terminal }},
		{"channel", "ended by signal: killed", func(p codexProcesses) int { return p.channel }},
	} {
		before := codexNow()
		if pids := before.pids(); len(pids) != 3 || slices.Contains(pids, -1) {
			t.Fatalf("the agent is %+v", before)
		}
		if err := syscall.Kill(part.of(before), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "an agent after its "+part.name+" was killed", func() bool {
			now := codexNow()
			pids := now.pids()
			return len(pids) == 3 && now.channel > 0 && now.server > 0 && now.terminal > 0 &&
				!slices.ContainsFunc(before.pids(), func(pid int) bool { return slices.Contains(pids, pid) }) && c.native()
		})
		texts = append(texts, fmt.Sprintf("after the end of its %s @", part.name))
		if err := c.promptAs(part.name, texts[len(texts)-1]); err != nil {
			t.Error(err)
		}
		if events := c.gc("events", "worker"); !strings.Contains(events, part.reason) {
			t.Errorf("its %s was killed, and no event has the reason %q:\n%s", part.name, part.reason, events)
		}
	}
	if got := c.got(texts); !slices.Equal(got, texts) {
		t.Errorf("codex got %q, want %q", got, texts)
	}
	c.stopAndCheck()
}

// TestCodexInAPodWithoutItsServer: if codex's server does not start in the pod, the agent runs alone. Its prompts are typed,
// and gc says so.
func TestCodexInAPodWithoutItsServer(t *testing.T) {
	requireCluster(t)
	dir, claim := newClaim(t)
	c := newPodCity(t, fmt.Sprintf("[[agents]]\nname = \"worker\"\nprovider = \"codex\"\noverlay_dir = \"files\"\n"+
		"pre_start = [\"mkdir -p /gc-home/bin; ln -sf $PWD/codex /gc-home/bin/codex; ln -sf /gc/bin/gc fakeagent\"]\n"+
		"[agents.env]\nPATH = \"/gc-home/bin:/usr/bin:/bin\"\nGC_K8S_PULL_POLICY = \"IfNotPresent\"\nGC_K8S_CLAIM = %q\n", claim))
	script := "#!/bin/sh\ncase \" $* \" in\n*' app-server '*) echo the server has no licence >&2; exit 3 ;;\n*' --remote '*) exec sleep 1000 ;;\nesac\n" +
		"exec ./fakeagent --ready-prefix '› ' --ledger ledger\n"
	if err := os.WriteFile(filepath.Join(c.root, "files", "codex"), []byte(script), 0o755); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	c.gc("start")
	if r := must(c.client.Nudge(t.Context(), "worker", client.NudgeRequest{Text: "a typed prompt", Wait: client.ReceiptSubmitted})); r.State != client.ReceiptSubmitted && r.State != client.ReceiptConsumed {
		t.Errorf("the prompt is %s: %s", r.State, r.Reason)
	}
	if e := must(c.client.Explain(t.Context(), "worker")); e.Channel == nil || e.Channel.Way != client.ChannelTyped || !strings.Contains(e.Channel.Reason, "codex's server is not connected") {
		t.Errorf("gc explains its channel as %+v", e.Channel)
	}
	if screen := c.gc("peek", "worker"); !strings.Contains(screen, "prompts are typed: its server exited: the server has no licence") {
		t.Errorf("its screen is %s", screen)
	}
	var got []string
	for _, r := range ledger.Of(must(ledger.Read(filepath.Join(dir, "ledger"))), ledger.Prompt) {
		got = append(got, r.Text)
	}
	if want := []string{"a typed prompt"}; !slices.Equal(got, want) {
		t.Errorf("codex got %q, want %q", got, want)
	}
}
