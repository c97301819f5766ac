package cluster_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/runtime"
)

// component returns a process of the cluster, which a test may stop for a while: a process that
// stands still is one that is lost, and it can come back as it was.
func component(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv(folderVariable), name+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	return must(strconv.Atoi(strings.TrimSpace(string(text))))
}

// While the API server or the node's kubelet does not answer, nothing is said of the
// sessions but that it is unknown, nothing is ended, and afterwards they are who they were.
func TestWhatIsLostIsUnknown(t *testing.T) {
	requireCluster(t)
	for _, name := range []string{"kubelet", "apiserver"} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t.Name())
			p := open(t, cfg)
			if err := p.Start(t.Context(), "a", agent()); err != nil {
				t.Fatal(err)
			}
			before, err := p.Observe(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			pid := component(t, name)
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			fresh := reopen(t, cfg) // knows nothing from before
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			obs, err := fresh.Observe(ctx, "a")
			cancel()
			if obs.Session == runtime.Dead || obs.Agent == runtime.Dead || err == nil {
				t.Errorf("without the %s: %v %v, %v", name, obs.Session, obs.Agent, err)
			}
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the session", func() bool {
				obs, err := fresh.Observe(t.Context(), "a")
				return err == nil && obs.Agent == runtime.Alive && obs.InstanceToken == before.InstanceToken
			})
			eventually(t, "the session to who knew it before", func() bool {
				obs, err := p.Observe(t.Context(), "a")
				return err == nil && obs.PID == before.PID && obs.InstanceToken == before.InstanceToken
			})
			if err := p.Stop("a"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A pod that somebody deletes is gone, and known to be without a question.
func TestDeletedPods(t *testing.T) {
	requireCluster(t)
	cfg := config(t.Name())
	p := open(t, cfg)
	events, err := p.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), "a", agent()); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "delete", "pods", "-n", namespace, "-l", "gc-city="+cfg.ID, "--grace-period=1")
	limit := time.After(waitLimit)
	for gone := false; !gone; {
		select {
		case e := <-events:
			gone = e.Kind == runtime.EventGone && e.Session == "a"
		case <-limit:
			t.Fatal("the lost pod was not reported")
		}
	}
	if obs, err := p.Observe(t.Context(), "a"); err != nil || obs.Session != runtime.Dead {
		t.Errorf("Observe = %v, %v", obs.Session, err)
	}
	if _, err := p.Peek("a", 1); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("Peek = %v", err)
	}
}

// What an agent says at the worker API's socket reaches this machine through the exec.
func TestWorkerSocket(t *testing.T) {
	requireCluster(t)
	socket := filepath.Join(t.TempDir(), "w")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	heard := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		text, _ := io.ReadAll(io.LimitReader(conn, 1)) // what came is compared
		heard <- string(text)
	}()
	cfg := config(t.Name())
	cfg.Worker = socket
	p := open(t, cfg)
	start := agent("--print-env-to", "env")
	start.Env = map[string]string{"GC_WORKER_SOCKET": socket}
	if err := p.Start(t.Context(), "a", start); err != nil {
		t.Fatal(err)
	}
	out, code, err := runtime.Exec(t.Context(), p, "a", []string{"sh", "-c", "grep -a -o 'GC_WORKER_SOCKET=[^,\"]*' /workspace/env"})
	far, _, _ := strings.Cut(strings.TrimPrefix(string(out), "GC_WORKER_SOCKET="), "\x00")
	if err != nil || code != 0 || far == socket || !filepath.IsAbs(far) {
		t.Fatalf("the agent's socket is %q, %d, %v", far, code, err)
	}
	// Whatever it says there arrives; a program that speaks to sockets is at hand.
	_, _, err = runtime.Exec(t.Context(), p, "a", []string{"timeout", "10", "tmux", "-S", far, "list-sessions"})
	if err != nil {
		t.Errorf("Exec = %v", err)
	}
	select {
	case text := <-heard:
		if text == "" {
			t.Errorf("received %q", text)
		}
	case <-time.After(waitLimit):
		t.Error("nothing was received")
	}
	if err := p.Stop("a"); err != nil {
		t.Error(err)
	}
}
