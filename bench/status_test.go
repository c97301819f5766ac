package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/fakeagent/build"
)

const (
	statusAgents  = 20
	statusReaders = 20
	statusLimit   = time.Minute
)

// BenchmarkStatus runs `gc status` alone, and then 20 of them at once. Readers get
// the controller's snapshot: the budget is no observation of any session and no
// process of the controller's for any number of them.
func BenchmarkStatus(b *testing.B) {
	dir, err := os.MkdirTemp("", "gcs") //nolint:usetesting // a socket path must be short
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			b.Error(err)
		}
	})
	gc := compile(b, b.TempDir(), "gc", "gascity/cmd/gc")
	c := statusCity(b, dir, gc)
	var one, many []time.Duration
	observed := 0
	for b.Loop() {
		before := readings(b, c)
		one = append(one, run(b, gc, "status", "--city", dir))
		began := time.Now()
		var readers sync.WaitGroup
		for range statusReaders {
			readers.Go(func() {
				if out, err := exec.CommandContext(b.Context(), gc, "status", "--city", dir).CombinedOutput(); err != nil {
					b.Errorf("gc status: %v\n%s", err, out)
				}
			})
		}
		readers.Wait()
		many = append(many, time.Since(began))
		after := readings(b, c)
		for agent, at := range after {
			if !at.Equal(before[agent]) {
				observed++
			}
		}
	}
	if observed > 0 {
		b.Errorf("sessions were observed %d times for readers of the status, want never", observed)
	}
	b.ReportMetric(ms(median(one)), "one-ms")
	b.ReportMetric(ms(median(many))/statusReaders, "each-of-20-ms")
	b.ReportMetric(float64(observed), "observations")
}

// statusCity runs a city of idle agents that nothing but a reader disturbs.
func statusCity(b *testing.B, dir, gc string) *client.Client {
	b.Helper()
	var toml strings.Builder
	toml.WriteString("[workspace]\nname = \"town\"\n[daemon]\npatrol_interval = \"1h\"\nshutdown_timeout = \"1s\"\n")
	agent := build.Build(b)
	for i := range statusAgents {
		fmt.Fprintf(&toml, "[[agents]]\nname = \"a%02d\"\nstart_command = \"exec %s\"\nready_prompt_prefix = \"❯\"\n", i, agent)
	}
	if err := os.WriteFile(filepath.Join(dir, client.CityFile), []byte(toml.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(gc, "controller", "run", "--city", dir) // it is ended by StopCity
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	c := &client.Client{Root: dir, Version: "dev"}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), statusLimit) // b's context has ended
		defer cancel()
		if _, err := c.StopCity(ctx); err != nil {
			b.Error(errors.Join(err, cmd.Process.Kill()))
		}
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	awaitRest(b, c)
	return c
}

// awaitRest waits until all agents run and were not looked at for a while.
func awaitRest(b *testing.B, c *client.Client) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), statusLimit)
	defer cancel()
	looks := time.NewTicker(100 * time.Millisecond)
	defer looks.Stop()
	for {
		status, err := c.Status(ctx)
		rest := err == nil && len(status.Agents) == statusAgents
		for _, a := range status.Agents {
			rest = rest && a.State == client.StateRunning && time.Since(a.ReadAt) > 3*time.Second
		}
		if rest {
			return
		}
		select {
		case <-looks.C:
		case <-ctx.Done():
			b.Fatalf("the city never was at rest: %+v, %v", status, err)
		}
	}
}

// readings returns when each session was last observed.
func readings(b *testing.B, c *client.Client) map[string]time.Time {
	b.Helper()
	status, err := c.Status(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	out := map[string]time.Time{}
	for _, a := range status.Agents {
		out[a.Name] = a.ReadAt
	}
	return out
}
