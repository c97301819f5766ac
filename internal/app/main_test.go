package app

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/runtime"
)

// The test binary is the shim, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "shim" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:forbidigo // this is a main
		code := New(Options{}).Shim(ctx, os.Args[2:])
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}

const patience = 30 * time.Second

// newDaemon returns a Daemon with a small environment.
func newDaemon(t *testing.T, more ...string) *Daemon {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// With the race detector a program sleeps a second when it exits, unless
	// GORACE says otherwise; shims are started without any environment.
	program := filepath.Join(t.TempDir(), "gc")
	script := "#!/bin/sh\nGORACE=atexit_sleep_ms=0 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8"}, more...)
	return New(Options{Environ: env, Executable: program, Version: "test"})
}

// changed returns a Daemon with other options.
func changed(d *Daemon, change func(*Options)) *Daemon {
	opts := d.opts
	change(&opts)
	return New(opts)
}

// newCity creates a city in a directory with a short path and returns its root.
func newCity(t *testing.T, toml string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gcd-") //nolint:usetesting // socket paths are short
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if choice, err := os.ReadFile(filepath.Join(root, citydir.StateFolder, citydir.ChoiceFile)); err == nil {
			if d := newDaemon(t); len(choice) > 1 {
				dir, err := citydir.RuntimeDir(root, d.SocketBases()...)
				if err == nil && filepath.Base(dir) == citydir.ID(root) {
					_ = os.RemoveAll(dir)
				}
			}
		}
		_ = os.RemoveAll(root)
	})
	write(t, filepath.Join(root, client.CityFile), toml)
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// running is a controller in this process.
type running struct {
	t      *testing.T
	root   string
	client *client.Client
	cancel context.CancelFunc
	done   chan error
	over   bool // the test has ended it
}

// runController runs a controller until the end of the test, which then stops the city.
func runController(t *testing.T, d *Daemon, root string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &running{t: t, root: root, client: &client.Client{Root: root, Version: "test"}, cancel: cancel, done: make(chan error, 1)}
	t.Cleanup(func() { // of a test that failed
		if !r.over {
			r.stopCity()
		}
	})
	ready := make(chan struct{})
	go func() {
		r.done <- d.RunController(ctx, root, cli.ControllerOptions{Version: "test", Ready: func() { close(ready) }})
	}()
	select {
	case <-ready:
	case err := <-r.done:
		r.over = true
		t.Fatalf("the controller ended at once: %v", err)
	case <-time.After(patience):
		t.Fatal("the controller is not ready")
	}
	return r
}

// stopCity stops the agents and the controller.
func (r *running) stopCity() client.Census {
	r.t.Helper()
	r.over = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.t.Context()), patience)
	defer cancel()
	census, err := r.client.StopCity(ctx)
	if err != nil {
		r.t.Fatalf("cannot stop the city: %v", err)
	}
	if err := <-r.done; err != nil {
		r.t.Errorf("the controller ended with: %v", err)
	}
	return census
}

// leave stops the controller. The sessions keep running.
func (r *running) leave() {
	r.t.Helper()
	r.over = true
	r.cancel()
	if err := <-r.done; err != nil {
		r.t.Errorf("the controller ended with: %v", err)
	}
}

// until waits until is returns true for the agent. what describes that for the failure.
func (r *running) until(name, what string, is func(client.Agent) bool) client.Agent {
	r.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	var last client.Agent
	for {
		status, err := r.client.Status(r.t.Context())
		if err == nil {
			for _, a := range status.Agents {
				if a.Name == name {
					last = a
				}
			}
			if is(last) {
				return last
			}
		}
		select {
		case <-looks.C:
		case <-deadline.C:
			r.t.Fatalf("%s never was %s; it is %+v (%v)", name, what, last, err)
		}
	}
}

func isRunning(a client.Agent) bool { return a.State == client.StateRunning && a.PID > 0 }

// awaitText waits until the session shows the text.
func awaitText(ctx context.Context, p runtime.Provider, name, text string) error {
	looks := time.NewTicker(25 * time.Millisecond)
	defer looks.Stop()
	for {
		screen, err := p.Peek(name, 0)
		if err != nil || strings.Contains(screen, text) {
			return err
		}
		select {
		case <-looks.C:
		case <-ctx.Done():
			return fmt.Errorf("%s does not show %q; its screen is:\n%s", name, text, screen)
		}
	}
}
