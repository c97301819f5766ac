package tui

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
)

// lineWriter holds what was written. It is safe for concurrent use.
type lineWriter struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // holds a token after a write
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wake(w.changed)
	return w.text.Write(p)
}

// await waits until a text was written.
func (w *lineWriter) await(t *testing.T, text string) {
	t.Helper()
	limit := time.After(patience)
	for {
		w.mu.Lock()
		all := w.text.String()
		w.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-w.changed:
		case <-limit:
			t.Fatalf("%q was never written, but\n%s", text, all)
		}
	}
}

// TestLinesOfChanges: each change is one line, once, without control characters of agents.
func TestLinesOfChanges(t *testing.T) {
	const evil = "a\x1b]52;c;cm0=\x07b\x1b[2Jc\u202ed\nnext"
	s := demo()
	s.City = "demo" + evil
	q := asked()
	q.Prompt, q.Options = evil, []string{evil}
	city := newFakeCity(s, q)
	out := &lineWriter{changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Lines(ctx, city, func() time.Time { return start }, out) }()
	out.await(t, "web/tester asks: ")
	out.await(t, "; answer with: gc respond q-1 OPTION\n")
	city.change(func() {
		city.status.Agents = slices.Concat(demo().Agents, []client.Agent{agentOf("web/late", "idle", 1)})
	})
	out.await(t, "web/late: idle\n")
	city.change(func() { city.away = true })
	out.await(t, "controller away since 12:00:00\n")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	all := out.text.String()
	for _, bad := range []string{"\x1b", "\x07", "\u202e"} {
		if strings.Contains(all, bad) {
			t.Errorf("the lines contain %q:\n%q", bad, all)
		}
	}
	for line := range strings.Lines(all) {
		if !strings.HasPrefix(line, "12:00:00 ") || strings.Count(all, line) != 1 {
			t.Errorf("the line %q has no time, or is written more than once:\n%s", line, all)
		}
	}
	if !strings.Contains(all, "web/coder: busy\n") {
		t.Errorf("the first state is missing:\n%s", all)
	}
}
