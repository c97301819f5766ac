package app

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/server/workerapi"
	"gascity/worker"
)

const loopbackCity = `
[workspace]
name = "town"
[daemon]
worker_http = true
shutdown_timeout = "200ms"
[[agents]]
name = "one"

start_command = "env > $GC_CITY_PATH/one.tmp && mv $GC_CITY_PATH/one.tmp $GC_CITY_PATH/one.env; sleep 1000"
[[agents]]
name = "two"
start_command = "env > $GC_CITY_PATH/two.tmp && mv $GC_CITY_PATH/two.tmp $GC_CITY_PATH/two.env; sleep 1000"
`

// readAgentEnv waits until an agent has written its environment to a file, and returns it.
func readAgentEnv(t *testing.T, root, agent string) map[string]string {
	t.Helper()
	out := map[string]string{}
	await(t, agent+" prints its environment", func() bool {
		text, err := os.ReadFile(filepath.Join(root, agent+".env"))
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
			out[name] = value
		}
		return err == nil
	})
	return out
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	end := time.Now().Add(patience)
	for tick := time.NewTicker(10 * time.Millisecond); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// endpoints are the routes, for those who may not use them.
var endpoints = []string{
	"POST /lifecycle", "POST /authorize", "POST /telemetry", "POST /interaction", "POST /health", "POST /ack", "GET /stream",
	"POST /prompt", "POST /context", "POST /identity", "POST /interrupt", "GET /health", "GET /events",
}

// TestWorkersByTheLoopbackPort checks that a worker can use the worker API over the port of
// 127.0.0.1.
func TestWorkersByTheLoopbackPort(t *testing.T) {
	d, root := newDaemon(t), newCity(t, loopbackCity)
	r := runController(t, d, root)
	one := r.until("one", "running", isRunning)
	r.until("two", "running", isRunning)
	env, other := readAgentEnv(t, root, "one"), readAgentEnv(t, root, "two")
	if !strings.HasPrefix(env["GC_WORKER_URL"], "http://127.0.0.1:") {
		t.Fatalf("GC_WORKER_URL is %q", env["GC_WORKER_URL"])
	}
	c := &worker.Client{URL: env["GC_WORKER_URL"], Token: env["GC_WORKER_TOKEN"], RunID: env["GC_RUN_ID"]}
	defer c.Close()
	if err := c.Report(t.Context(), worker.Started, worker.Detail{}); err != nil {
		t.Errorf("the run's own worker: %v", err)
	}
	file := workerapi.PortFile(filepath.Dir(client.SocketPath(root)), one.Session)
	port, err := os.ReadFile(file)
	info, bad := os.Stat(file)
	if err = errors.Join(err, bad); err != nil || "http://127.0.0.1:"+strings.TrimSpace(string(port)) != c.URL || info.Mode().Perm() != 0o600 {
		t.Errorf("the port file says %q, %v; the address is %s", port, err, c.URL)
	}
	for _, row := range endpoints {
		method, path, _ := strings.Cut(row, " ")
		if status := askAs(t, method, c.URL+path, other["GC_WORKER_TOKEN"], env["GC_RUN_ID"]); status != http.StatusForbidden {
			t.Errorf("%s with the token of another session: %d", row, status)
		}
		second(t, method, c.URL+path, env)
	}
	r.leave() // the agents go on
	again := runController(t, d, root)
	again.until("one", "there again", isRunning)
	if err := c.Report(t.Context(), worker.Ready, worker.Detail{}); err != nil {
		t.Errorf("after a restart of the controller, at the same address: %v", err)
	}
	again.stopCity()
	await(t, "no port file is left", func() bool {
		left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "worker-*.port"))
		return err == nil && len(left) == 0
	})
}

func askAs(t *testing.T, method, url, token, run string) int {
	t.Helper()
	body := strings.NewReader("")
	if method == http.MethodPost {
		body = strings.NewReader(`{"run_id":"` + run + `","events":[{"type":"x"}],"event":"idle","id":"x"}`)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url+"?run_id="+run, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// second sends a request with the right token as another user of this machine. Only root can do
// that, and only where the kernel reports the user of a connection.
func second(t *testing.T, method, url string, env map[string]string) {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil || os.Getuid() != 0 {
		return
	}
	args := []string{"-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}", "-X", method, "-H", "Authorization: Bearer " + env["GC_WORKER_TOKEN"], url + "?run_id=" + env["GC_RUN_ID"]}
	if method == http.MethodPost {
		args = append(args, "-H", "Content-Type: application/json", "-d", `{"event":"idle"}`)
	}
	cmd := exec.CommandContext(t.Context(), curl, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "403" {
		t.Errorf("%s %s as a second user: %s, %v", method, url, out, err)
	}
}

// TestNoPortByDefault checks that the worker API has no port unless city.toml enables it.
func TestNoPortByDefault(t *testing.T) {
	d, root := newDaemon(t), newCity(t, strings.ReplaceAll(loopbackCity, "worker_http = true\n", ""))
	r := runController(t, d, root)
	r.until("two", "running", isRunning)
	if url, there := readAgentEnv(t, root, "two")["GC_WORKER_URL"]; there {
		t.Errorf("GC_WORKER_URL is %q", url)
	}
	r.stopCity()
}
