package tmux_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"gascity/provider/tmux"
	"gascity/runtime"
)

// BenchmarkOperations measures operations of a city of 50 sessions, compared with one tmux process.
func BenchmarkOperations(b *testing.B) {
	if _, err := exec.LookPath("tmux"); err != nil {
		b.Skip("tmux is not installed")
	}
	dir := b.TempDir()
	p, err := tmux.Open(config(dir))
	if err != nil {
		b.Fatal(err)
	}
	names := make([]string, 50)
	for n := range names {
		names[n] = fmt.Sprintf("s%d", n)
		if err := p.Start(b.Context(), names[n], runtime.Config{Command: "exec cat", WorkDir: dir}); err != nil {
			b.Fatal(err)
		}
	}
	b.Cleanup(func() {
		for _, name := range names {
			if err := p.Stop(name); err != nil {
				b.Error(err)
			}
		}
		if err := (city{p, dir}).Close(); err != nil {
			b.Error(err)
		}
	})
	run := func(name string, do func(n int) error) {
		b.Run(name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				if err := do(n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("is-running", func(n int) error {
		if !p.IsRunning(names[n%50]) {
			return fmt.Errorf("%s does not run", names[n%50])
		}
		return nil
	})
	run("list", func(int) error { _, err := p.ListRunning(""); return err })
	run("peek", func(n int) error { _, err := p.Peek(names[n%50], 20); return err })
	run("set-meta", func(n int) error { return p.SetMeta(names[n%50], "key", "value") })
	run("get-meta", func(n int) error { _, err := p.GetMeta(names[n%50], "key"); return err })
	run("send-keys", func(n int) error { return p.SendKeys(names[n%50], "a") })
	run("observe", func(n int) error { _, err := p.Observe(b.Context(), names[n%50]); return err })
	run("sense", func(n int) error { _, err := p.Sense(b.Context(), names[n%50]); return err })
	socket := filepath.Join(dir, "tmux", "s")
	run("one-tmux-process", func(int) error {
		return exec.CommandContext(b.Context(), "tmux", "-S", socket, "has-session", "-t", "=s1").Run()
	})
}
