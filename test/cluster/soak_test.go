package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
)

// number reads what enlarges a test.
func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// soak is a city whose agents run here, in pods and on an ssh host, all with a ledger.
type soak struct {
	*podCity

	dir    string // of the ledgers
	agents []string
	mu     sync.Mutex
	sent   map[string]string // by the receipt, the agent and the text
}

// TestMixedCityReconciles kills pods, tunnels, the node's kubelet, the API server and the controller
// in turn while prompts go to agents of three places, and compares every receipt with what the agents
// wrote down. GC_CLUSTER_SOAK_EACH is how many agents each place has, GC_CLUSTER_SOAK_PROMPTS how
// many prompts are sent, GC_CLUSTER_SOAK_ROUNDS how often everything is killed.
func TestMixedCityReconciles(t *testing.T) {
	requireCluster(t)
	each, total, rounds := number(t, "GC_CLUSTER_SOAK_EACH", 2), number(t, "GC_CLUSTER_SOAK_PROMPTS", 60), number(t, "GC_CLUSTER_SOAK_ROUNDS", 1)
	dir := must(os.MkdirTemp("/tmp", "gcl-")) //nolint:usetesting // socket paths are short
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := &soak{sent: map[string]string{}}
	s.podCity = newPodCity(t, s.city(dir, host(t, dir), each))
	s.dir = dir
	s.gc("start", "--no-wait")
	ctx, cancel := context.WithTimeout(t.Context(), 14*time.Minute)
	defer cancel()
	s.await(ctx)
	var senders sync.WaitGroup
	const hands = 4
	for hand := range hands {
		senders.Go(func() {
			for n := hand; n < total; n += hands {
				s.post(ctx, n)
			}
		})
	}
	sending := make(chan struct{})
	go func() { senders.Wait(); close(sending) }()
	for range rounds {
		for _, kill := range []func(){s.killPods, s.killTunnels, func() { s.restart("kubelet") }, func() { s.restart("apiserver") }, s.killController} {
			kill()
			<-time.After(time.Duration(500+rand.IntN(2500)) * time.Millisecond)
		}
	}
	<-sending
	s.waitQueueEmpty(ctx)
	s.reconcile(ctx, total)
	s.await(ctx)
}

// city returns the text of the configuration.
func (s *soak) city(dir, config string, each int) string {
	volume := string(must(json.Marshal(map[string]any{"spec": map[string]any{
		"volumes":    []any{map[string]any{"name": "ledgers", "hostPath": map[string]string{"path": dir}}},
		"containers": []any{map[string]any{"name": "agent", "volumeMounts": []any{map[string]string{"name": "ledgers", "mountPath": dir}}}},
	}})))
	text := fmt.Sprintf("[daemon]\nmax_restarts = 1000\nmax_wakes_per_tick = 8\n[session.ssh]\noptions = [\"-F\", %q]\n", config)
	for _, place := range []string{"pty", "k8s", "ssh:box"} {
		for i := range each {
			name := fmt.Sprintf("%s-%d", strings.TrimSuffix(place, ":box"), i)
			s.agents = append(s.agents, name)
			start, where := program("fakeagent"), fmt.Sprintf("work_dir = %q\n", dir)
			if place == "k8s" {
				start, where = "./fakeagent", ""
			}
			text += fmt.Sprintf("[[agents]]\nname = %q\nsession = %q\n%sstart_command = \"exec %s --osc7501 --ledger %s\"\nready_prompt_prefix = \"❯\"\n",
				name, place, where, start, filepath.Join(dir, name))
			if place == "k8s" {
				text += fmt.Sprintf("pre_start = [\"ln -sf /gc/bin/gc fakeagent\"]\n[agents.env]\nGC_K8S_PULL_POLICY = \"IfNotPresent\"\nGC_K8S_TEMPLATE = '%s'\n", volume)
			}
		}
	}
	return text
}

// host starts an sshd of its own and returns the configuration of clients that know it as box.
func host(t *testing.T, dir string) string {
	t.Helper()
	sshd := needs(t, "sshd")
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // agents in pods are another user
		t.Fatal(err)
	}
	at := t.TempDir()
	for _, key := range []string{"host", "user"} {
		if out, err := osexec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(at, key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v %s", err, out)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const port = 2022 // the cluster's network is its own
	write("sshd_config", fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/user.pub\nPidFile none\nStrictModes no\n"+
		"PasswordAuthentication no\nPermitRootLogin yes\nMaxSessions 100\nMaxStartups 100\nSetEnv XDG_CACHE_HOME=%[2]s/cache XDG_STATE_HOME=%[2]s/state\n", port, at))
	write("known", fmt.Sprintf("[127.0.0.1]:%d %s", port, must(os.ReadFile(filepath.Join(at, "host.pub")))))
	write("ssh_config", fmt.Sprintf("Host box\n HostName 127.0.0.1\n Port %d\n User root\n IdentityFile %[2]s/user\n IdentitiesOnly yes\n"+
		" UserKnownHostsFile %[2]s/known\n StrictHostKeyChecking yes\n LogLevel ERROR\n", port, at))
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { //nolint:gosec // sshd wants it so
		t.Fatal(err)
	}
	daemon := osexec.CommandContext(context.WithoutCancel(t.Context()), sshd, "-D", "-e", "-f", filepath.Join(at, "sshd_config"))
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Kill() // it runs
		_ = daemon.Wait()         // it was killed
	})
	return filepath.Join(at, "ssh_config")
}

// await waits until all agents run.
func (s *soak) await(ctx context.Context) {
	s.Helper()
	for {
		status, err := s.client.Status(ctx)
		running := 0
		for i := range status.Agents {
			if status.Agents[i].State == client.StateRunning {
				running++
			}
		}
		if err == nil && running == len(s.agents) {
			return
		}
		if ctx.Err() != nil {
			s.Fatalf("%d of %d agents run: %+v, %v", running, len(s.agents), status.Agents, err)
		}
		<-time.After(200 * time.Millisecond)
	}
}

// post sends one prompt until it is accepted.
func (s *soak) post(ctx context.Context, n int) {
	agent, text := s.agents[rand.IntN(len(s.agents))], fmt.Sprintf("p%d %s", n, strings.Repeat("lorem ipsum; ", rand.IntN(40)))
	text = strings.TrimSpace(text)
	for ctx.Err() == nil {
		r, err := s.client.Nudge(ctx, agent, client.NudgeRequest{Text: text, Key: fmt.Sprint("p", n), Source: "soak"})
		if err == nil {
			s.mu.Lock()
			s.sent[r.ID] = agent + " " + text
			s.mu.Unlock()
			<-time.After(time.Duration(rand.IntN(400)) * time.Millisecond)
			return
		}
		<-time.After(50 * time.Millisecond) // no controller, or an agent that is started again
	}
}

// killPods deletes half of the pods, without a grace.
func (s *soak) killPods() {
	s.Helper()
	for i, name := range strings.Fields(kubectl(s.T, "get", "pods", "-n", namespace, "-l", "app=gc-agent", "-o", "jsonpath={.items[*].metadata.name}")) {
		if i%2 == 0 {
			kubectl(s.T, "delete", "pod", "-n", namespace, name, "--force", "--grace-period=0", "--wait=false")
		}
	}
}

// killTunnels kills the far ends of all connections, in pods and on the host, and the ssh clients.
func (s *soak) killTunnels() {
	for _, path := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil &&
			(bytes.Contains(line, []byte("outpost\x00serve")) || bytes.HasPrefix(line, []byte("ssh\x00"))) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// restart kills a component of the cluster, and starts it again as it was.
func (s *soak) restart(name string) {
	s.Helper()
	pid := component(s.T, name)
	words := strings.Split(strings.TrimSuffix(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)))), "\x00"), "\x00")
	env := strings.Split(strings.TrimSuffix(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)))), "\x00"), "\x00")
	program := must(os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.Fatal(err)
	}
	<-time.After(2 * time.Second)
	log := must(os.OpenFile(filepath.Join(os.Getenv(folderVariable), "log", name+".log"), os.O_APPEND|os.O_WRONLY, 0))
	defer log.Close()
	again := osexec.CommandContext(context.WithoutCancel(s.Context()), program)
	again.Args, again.Env, again.Stdout, again.Stderr = words, env, log, log
	if err := again.Start(); err != nil {
		s.Fatal(err)
	}
	go again.Wait() // it ends with the cluster
	if err := os.WriteFile(filepath.Join(os.Getenv(folderVariable), name+".pid"), []byte(fmt.Sprint(again.Process.Pid)), 0o600); err != nil {
		s.Fatal(err)
	}
	eventually(s.T, name, func() bool {
		return osexec.CommandContext(s.Context(), "kubectl", "get", "--raw", "/readyz").Run() == nil
	})
}

// killController kills it and starts it again.
func (s *soak) killController() {
	s.Helper()
	status, err := s.client.Status(s.Context())
	if err != nil {
		s.Errorf("Status: %v", err)
		return
	}
	if err := syscall.Kill(status.Controller.PID, syscall.SIGKILL); err != nil {
		s.Error(err)
	}
	s.gc("start", "--no-wait")
}

// waitQueueEmpty waits until no prompt is on its way any more.
func (s *soak) waitQueueEmpty(ctx context.Context) {
	s.Helper()
	for {
		open, err := s.client.Queue(ctx, "", client.OnlyOpen)
		if err == nil && len(open) == 0 {
			return
		}
		if ctx.Err() != nil {
			s.Fatalf("these prompts never came to an end: %+v, %v", open, err)
		}
		<-time.After(200 * time.Millisecond)
	}
}

// reconcile compares the receipts with the ledgers.
func (s *soak) reconcile(ctx context.Context, total int) {
	s.Helper()
	taken, known := map[string]map[string]int{}, map[string]bool{}
	for _, agent := range s.agents {
		taken[agent] = map[string]int{}
		records, err := ledger.Read(filepath.Join(s.dir, agent))
		if err != nil {
			s.Fatal(err)
		}
		for _, r := range ledger.Prompts(records) {
			taken[agent][r.SHA256]++
		}
	}
	states := map[string]int{}
	for id, what := range s.sent {
		agent, text, _ := strings.Cut(what, " ")
		r, err := s.client.Receipt(ctx, id, "")
		if err != nil {
			s.Fatalf("the receipt of %q is gone: %v", what, err)
		}
		sum := ledger.Sum(text)
		known[agent+sum] = true
		n, low, high := taken[agent][sum], 0, 0
		switch r.State {
		case client.ReceiptConsumed, client.ReceiptSubmitted:
			low, high = 1, 1
		case client.ReceiptUnconfirmed:
			high = 1
		}
		place, _, _ := strings.Cut(agent, "-")
		states[place+" "+r.State]++
		if n < low || n > high {
			s.Errorf("%.20q to %s is %s (%s) and was taken %d times: %+v", text, agent, r.State, r.Reason, n, r.Steps)
		}
	}
	for agent, sums := range taken {
		for sum := range sums {
			if !known[agent+sum] {
				s.Errorf("%s took a prompt that was never sent", agent)
			}
		}
	}
	s.Logf("%d agents, %d prompts: %v", len(s.agents), len(s.sent), states)
	consumed := states["pty consumed"] + states["k8s consumed"] + states["ssh consumed"]
	if len(s.sent) != total || consumed < total/2 {
		s.Errorf("%d of %d prompts were accepted and %d consumed: the soak proves little", len(s.sent), total, consumed)
	}
}
