package subprocess_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/provider/subprocess"
	"gascity/runtime"
)

// A prompt that the agent may have read in part is not reported as undelivered, for any end of the session
// during the delivery.
func TestSessionEndsDuringADelivery(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, p *subprocess.Provider){
		"stopped": func(t *testing.T, p *subprocess.Provider) {
			if err := p.Stop("one"); err != nil {
				t.Error(err)
			}
		},
		"shim killed": func(t *testing.T, p *subprocess.Provider) {
			l, err := p.Session(t.Context(), "look at", "one")
			if err != nil {
				t.Error(err)
				return
			}
			sight, err := l.Client.State(t.Context())
			if err == nil {
				err = syscall.Kill(sight.Record.Shim.PID, syscall.SIGKILL)
			}
			if err != nil {
				t.Error(err)
			}
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "gcsd") //nolint:usetesting // short: it holds sockets
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
			p, err := subprocess.Open(config(dir))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			took := filepath.Join(dir, "took")
			cfg := runtime.Config{
				Command: "head -c 1000 > took; exec sleep 300", WorkDir: dir,
				// The token belongs to this session only: a stop kills every process that has the
				// token.
				Env: map[string]string{"GC_STDIN": "framed", "GC_INSTANCE_TOKEN": "token-" + rand.Text()},
			}
			if err := p.Start(t.Context(), "one", cfg); err != nil {
				t.Fatal(err)
			}
			defer p.Stop("one") //nolint:errcheck // it may have ended
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for until := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
					if b, err := os.ReadFile(took); err == nil && len(b) > 0 {
						break
					}
					if time.Now().After(until) {
						t.Error("the agent never read a byte")
						break
					}
				}
				end(t, p)
			}()
			out, err := p.Deliver(t.Context(), "one", runtime.Delivery{ID: "id", Content: runtime.TextContent(strings.Repeat("x", 1<<20))})
			<-ended
			if out.State != runtime.OutcomeUnconfirmed {
				t.Errorf("%+v, %v, want unconfirmed: the agent read a part of it", out, err)
			}
		})
	}
}

// A repeated attempt is not written again. An attempt whose outcome was requested first is never written.
func TestAttemptIsWrittenOnce(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "gcsd") //nolint:usetesting // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	p, err := subprocess.Open(config(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	took := filepath.Join(dir, "took")
	cfg := runtime.Config{Command: "exec cat > took", WorkDir: dir, Env: map[string]string{"GC_STDIN": "lines", "GC_INSTANCE_TOKEN": "token-" + rand.Text()}}
	if err := p.Start(t.Context(), "one", cfg); err != nil {
		t.Fatal(err)
	}
	defer p.Stop("one") //nolint:errcheck // it may have ended
	late := runtime.Delivery{ID: "r-2", Attempt: 1, Content: runtime.TextContent("late")}
	if out, err := runtime.Settle(t.Context(), p, "one", late); err != nil || !out.Unsent {
		t.Errorf("%+v, %v, want that nothing was sent", out, err)
	}
	for _, d := range []runtime.Delivery{late, {ID: "r-1", Attempt: 1, Content: runtime.TextContent("first")}, {ID: "r-1", Attempt: 1, Content: runtime.TextContent("first")}, {ID: "r-1", Attempt: 2, Content: runtime.TextContent("second")}} {
		out, err := p.Deliver(t.Context(), "one", d)
		if err != nil || out.State != runtime.OutcomeUnconfirmed && !out.Unsent {
			t.Errorf("%s: %+v, %v", d.ID, out, err)
		}
	}
	const want = "first\nsecond\n"
	var got []byte
	for until := time.Now().Add(20 * time.Second); len(got) < len(want) && time.Now().Before(until); <-time.After(5 * time.Millisecond) {
		got, _ = os.ReadFile(took) // the agent creates it
	}
	if string(got) != want {
		t.Errorf("the agent read %q, want %q", got, want)
	}
}
