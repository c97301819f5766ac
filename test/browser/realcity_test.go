package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/fakeagent/build"
)

// realCity is a city of real agents whose controller is a process.
type realCity struct {
	t          *testing.T
	root       string
	gc         string
	client     *client.Client
	controller *exec.Cmd
}

// newRealCity builds gc, and starts a city of the agents in the sections of city.toml that agents returns. The program fakeagent is in
// the root.
func newRealCity(t *testing.T, agents func(root string) string) *realCity {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "gcb-") //nolint:usetesting // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	c := &realCity{t: t, root: root, gc: filepath.Join(t.TempDir(), "gc"), client: &client.Client{Root: root, Version: "dev"}}
	t.Cleanup(c.client.Close)
	if err := build.Program(c.gc, "gascity/cmd/gc"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(c.gc, filepath.Join(root, "fakeagent")); err != nil {
		t.Fatal(err)
	}
	toml := "[workspace]\nname = \"town\"\n[daemon]\nshutdown_timeout = \"1s\"\n" + agents(root)
	if err := os.WriteFile(filepath.Join(root, client.CityFile), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	t.Cleanup(c.stop)
	return c
}

// command returns a command of gc in the city.
func (c *realCity) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.gc, append(args, "--city", c.root)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.root, "LANG=C.UTF-8"}
	return cmd
}

// start starts the controller and returns when it answers.
func (c *realCity) start() {
	c.t.Helper()
	c.controller = c.command("controller", "run")
	if err := c.controller.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.until("the controller answers", func(ctx context.Context) bool {
		_, err := c.client.Status(ctx)
		return err == nil
	})
}

func (c *realCity) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if _, err := c.client.StopCity(ctx); err != nil {
		c.t.Errorf("cannot stop the city: %v", err)
		_ = c.controller.Process.Kill() // the last resort
	}
	_ = c.controller.Wait()
}

// link starts the web console and returns a link that signs a device in.
func (c *realCity) link(scope client.Scope) string {
	c.t.Helper()
	if _, err := c.client.StartWeb(c.t.Context(), client.WebRequest{Listen: "127.0.0.1:0"}); err != nil {
		c.t.Fatal(err)
	}
	code, err := c.client.NewWebCode(c.t.Context(), client.WebCodeRequest{Scope: scope})
	if err != nil {
		c.t.Fatal(err)
	}
	return code.Link
}

func (c *realCity) until(what string, is func(context.Context) bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*patience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !is(ctx) {
		select {
		case <-again.C:
		case <-ctx.Done():
			c.t.Fatalf("it never holds that %s", what)
		}
	}
}
