// Package citytest runs real cities whose agents are models in memory, for tests of commands,
// servers and clients. A [City] is everything that a controller process has: configuration, store,
// controller, services, servers and sockets, as package app assembles them. Only the sessions are
// those of package fake, whatever runtime provider the configuration selects: no process starts.
//
// The configuration says what an agent does: its start_command is that of a [fake.Script]. A test
// that needs more uses City.Agents.
package citytest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/app"
	"gascity/internal/cli"
	"gascity/provider/all"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/worker"
)

// Patience is longer than anything takes that a city does.
const Patience = 30 * time.Second

// Version is the version of the controller of a [City].
const Version = "test"

// NewDaemon returns the assembly of the product over the sessions of agents. A runtime provider
// other than the default one has sessions of its own, and all forget them with the assembly.
func NewDaemon(opts app.Options, agents *fake.Provider) *app.Daemon {
	var mu sync.Mutex
	worlds := map[string]*fake.Provider{all.Drivers()[0].Name: agents}
	opts.Open = func(selection string, _ all.Config) (runtime.Provider, error) {
		if _, _, err := all.Find(selection); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if worlds[selection] == nil {
			worlds[selection] = fake.New()
		}
		return worlds[selection], nil
	}
	return app.New(opts)
}

// City is a city with a controller in this process. Its methods are for one goroutine.
type City struct {
	Root   string
	Client *client.Client
	Agents *fake.Provider // its sessions, also while no controller runs

	tb     testing.TB
	daemon *app.Daemon
	cancel context.CancelFunc // of the controller that runs; nil: none runs
	done   chan error
}

// New makes a city of a city.toml and starts its controller. At the end of the test both are gone,
// and an error of the controller fails the test. change changes the options of the controller.
func New(tb testing.TB, toml string, change ...func(*app.Options)) *City {
	tb.Helper()
	dir, err := os.MkdirTemp("/tmp", "gct-") //nolint:usetesting // the paths of sockets are short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	c := &City{Root: filepath.Join(dir, "town"), Agents: fake.New(), tb: tb}
	programs := filepath.Join(dir, "bin")
	for path, file := range map[string]struct {
		text string
		mode os.FileMode
	}{
		filepath.Join(programs, fake.Program):  {"#!/bin/sh\n", 0o700}, // the controller looks for it
		filepath.Join(c.Root, client.CityFile): {toml, 0o600},
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file.text), file.mode); err != nil {
			tb.Fatal(err)
		}
	}
	env := []string{"PATH=" + programs, "HOME=" + dir, "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "LANG=C.UTF-8"}
	opts := app.Options{Environ: env, Executable: filepath.Join(programs, "gc"), Version: Version}
	for _, edit := range change {
		edit(&opts)
	}
	c.daemon = NewDaemon(opts, c.Agents)
	c.Client = &client.Client{Root: c.Root, Version: Version}
	tb.Cleanup(func() {
		c.Leave()
		c.Client.Close()
	})
	c.Start()
	return c
}

// Start starts the controller and returns when it answers.
func (c *City) Start() {
	c.tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.tb.Context()))
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- c.daemon.RunController(ctx, c.Root, cli.ControllerOptions{Version: Version, Ready: func() { close(ready) }})
	}()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		c.tb.Fatalf("the controller exited at once: %v", err)
	case <-time.After(Patience):
		cancel()
		c.tb.Fatal("the controller does not become ready")
	}
	c.cancel, c.done = cancel, done
}

// Leave stops the controller and leaves the agents running. It does nothing if none runs.
func (c *City) Leave() {
	c.tb.Helper()
	if c.cancel != nil {
		c.cancel()
		c.Wait()
	}
}

// Wait waits until the controller has exited, after a request that makes it exit.
func (c *City) Wait() {
	c.tb.Helper()
	cancel := c.cancel
	c.cancel = nil
	defer cancel()
	select {
	case err := <-c.done:
		if err != nil {
			c.tb.Errorf("the controller exited with: %v", err)
		}
	case <-time.After(Patience):
		c.tb.Error("the controller does not exit")
	}
}

// Write replaces the city.toml; the controller notices that by itself.
func (c *City) Write(toml string) {
	c.tb.Helper()
	path := filepath.Join(c.Root, client.CityFile)
	if err := os.WriteFile(path+".new", []byte(toml), 0o600); err != nil {
		c.tb.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		c.tb.Fatal(err)
	}
}

// Worker returns a client of the worker API with the rights of the newest instance of an agent, for
// a test that reports as the agent's worker.
func (c *City) Worker(agent string) *worker.Client {
	c.tb.Helper()
	session := c.AwaitRunning(agent).Session
	for _, call := range slices.Backward(c.Agents.Calls("Start", "Relaunch")) {
		cfg, ok := call.Args[0].(runtime.Config)
		if call.Name != session || !ok {
			continue
		}
		w := &worker.Client{Socket: cfg.Env["GC_WORKER_SOCKET"], RunID: cfg.Env["GC_RUN_ID"], Token: cfg.Env["GC_WORKER_TOKEN"]}
		c.tb.Cleanup(w.Close)
		return w
	}
	c.tb.Fatalf("%s was not started", agent)
	return nil
}

// Await waits until the function matches returns true for the status of the agent, and returns the status.
func (c *City) Await(agent string, matches func(client.Agent) bool) client.Agent {
	c.tb.Helper()
	var last client.Agent
	var lastErr error
	defer func() {
		if c.tb.Failed() {
			c.tb.Logf("%s is %+v, %v", agent, last, lastErr)
		}
	}()
	c.Until("the status of "+agent, func(ctx context.Context) bool {
		status, err := c.Client.Status(ctx)
		lastErr = err
		i := slices.IndexFunc(status.Agents, func(a client.Agent) bool { return a.Name == agent })
		if i >= 0 {
			last = status.Agents[i]
		}
		return i >= 0 && matches(last)
	})
	return last
}

// AwaitRunning returns the agent when it runs and its activity is known to be one of these.
func (c *City) AwaitRunning(agent string, activities ...runtime.Activity) client.Agent {
	c.tb.Helper()
	return c.Await(agent, func(a client.Agent) bool {
		return a.State == client.StateRunning && (len(activities) == 0 || slices.Contains(activities, runtime.Activity(a.Activity.State)))
	})
}

// Until asks until the answer is true.
func (c *City) Until(what string, ask func(ctx context.Context) bool) {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(c.tb.Context(), Patience)
	defer cancel()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !ask(ctx) {
		select {
		case <-again.C:
		case <-ctx.Done():
			c.tb.Fatalf("%s: it never was as the test wants it", what)
		}
	}
}
