package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/provider/pty"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
)

// The test binary is the shim and the subreaper, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "shim" {
		os.Exit(host(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == "subreaper" {
		panic(proc.ExecSubreaper(os.Args[2:], os.Environ()))
	}
	os.Exit(m.Run())
}

func host(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := shim.Run(ctx, dir, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func openPTY(b *testing.B) (p *pty.Provider, dir string) {
	b.Helper()
	dir, err := os.MkdirTemp("", "gcb") //nolint:usetesting // a socket path must be short
	if err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p, err = pty.Open(pty.Config{
		Dir: filepath.Join(dir, "s"), WorkDir: dir, Shim: []string{self, "shim"},
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		names, err := p.ListRunning("")
		for _, name := range names {
			if stopErr := p.Stop(name); stopErr != nil {
				err = stopErr
			}
		}
		if err != nil {
			b.Error(err)
		}
		if err := errors.Join(p.Close(), os.RemoveAll(dir)); err != nil {
			b.Error(err)
		}
	})
	return p, dir
}

func fakeAgent(b *testing.B, dir, name, flags string) (runtime.Config, string) {
	b.Helper()
	path := filepath.Join(dir, name+".ledger")
	return runtime.Config{
		Command:           build.Build(b) + " --ledger " + path + " " + flags,
		ReadyPromptPrefix: "❯", ProviderName: "claude", WorkDir: dir,
	}, path
}

// BenchmarkDelivery delivers prompts of 1 KiB to an agent that answers at once.
// The budget is 50 ms from injection to confirmation beyond the agent's own time.
func BenchmarkDelivery(b *testing.B) {
	p, dir := openPTY(b)
	cfg, _ := fakeAgent(b, dir, "a", "--think 1ms")
	if err := p.Start(b.Context(), "a", cfg); err != nil {
		b.Fatal(err)
	}
	line := strings.Repeat("0123456789abcdef", 4)
	text := strings.Repeat(line+"\n", 15) + line
	var took []time.Duration
	for b.Loop() {
		if err := p.WaitForIdle(b.Context(), "a", 20*time.Second); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		out, err := p.Deliver(b.Context(), "a", runtime.Delivery{Content: runtime.TextContent(text)})
		if err != nil || out.State != runtime.OutcomeSubmitted {
			b.Fatalf("Deliver: %+v, %v", out, err)
		}
		took = append(took, time.Since(began))
	}
	b.ReportMetric(ms(median(took)), "deliver-ms")
}

// BenchmarkReadiness starts agents and compares when they painted their input box
// with when Start returned. The budget is 20 ms.
func BenchmarkReadiness(b *testing.B) {
	p, dir := openPTY(b)
	var took, whole []time.Duration
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprintf("r%d", i)
		cfg, path := fakeAgent(b, dir, name, "")
		began := time.Now()
		if err := p.Start(b.Context(), name, cfg); err != nil {
			b.Fatal(err)
		}
		returned := time.Now()
		records, err := ledger.Read(path)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range records {
			if r.Kind == "ready" {
				took = append(took, returned.Sub(r.Time))
			}
		}
		whole = append(whole, returned.Sub(began))
		if err := p.Stop(name); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(ms(median(took)), "notice-ms")
	b.ReportMetric(ms(median(whole)), "start-ms")
}
