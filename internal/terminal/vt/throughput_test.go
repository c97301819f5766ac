package vt_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/creack/pty"
	xterm "golang.org/x/term"

	"gascity/internal/terminal/vt"
)

// BenchmarkBesideTmux writes the same agent output to the model, to the model through a
// pseudo terminal, and to a real tmux, one after the other, and reports MB/s of each and the
// ratio of the second to tmux:
//
//	go test -run '^$' -bench BesideTmux -benchtime 3x ./internal/terminal/vt
func BenchmarkBesideTmux(b *testing.B) {
	const cols, rows = 200, 50
	out := agentOutput(8 << 20)
	o := startTmuxReference(b, cols, rows)
	var direct, through, tmux time.Duration
	for b.Loop() {
		direct += timed(func() { vt.New(cols, rows, nil).Write(out) })
		through += timed(func() { throughTerminal(b, out, vt.New(cols, rows, nil)) })
		tmux += timed(func() { o.write(out) })
	}
	mb := func(d time.Duration) float64 {
		return float64(len(out)) * float64(b.N) / 1e6 / d.Seconds()
	}
	b.ReportMetric(mb(direct), "model-MB/s")
	b.ReportMetric(mb(through), "model-pty-MB/s")
	b.ReportMetric(mb(tmux), "tmux-MB/s")
	b.ReportMetric(tmux.Seconds()/through.Seconds(), "times-tmux")
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// throughTerminal sends out through a pseudo terminal to s.
func throughTerminal(tb testing.TB, out []byte, s *vt.Screen) {
	tb.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		tb.Fatal(err)
	}
	defer master.Close()
	if _, err := xterm.MakeRaw(int(slave.Fd())); err != nil {
		tb.Fatal(err)
	}
	written := make(chan error, 1)
	go func(slave *os.File) {
		_, err := slave.Write(out)
		slave.Close()
		written <- err
	}(slave)
	if n, err := io.CopyBuffer(struct{ io.Writer }{s}, io.LimitReader(master, int64(len(out))), make([]byte, 64<<10)); err != nil || n != int64(len(out)) {
		tb.Fatalf("read %d bytes: %v", n, err)
	}
	if err := <-written; err != nil {
		tb.Fatal(err)
	}
}
