package pty_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/shim"
	"gascity/internal/statedir"
	"gascity/provider/pty"
	"gascity/runtime"
)

// requestLog stores the requests that reach a shim.
type requestLog struct {
	mu  sync.Mutex
	all []string
}

// reset returns the requests since the last call.
func (l *requestLog) reset() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// logRequests puts a proxy in front of the session's shim, which stores each request of the returned session. If previous is
// true, the state that the shim reports is that of a shim of the previous release.
func (a *ledgerSession) logRequests(t testing.TB, previous bool) (*ledgerSession, *requestLog) {
	t.Helper()
	p, err := pty.Open(config(filepath.Dir(a.file))) // has no connection yet
	if err != nil {
		t.Fatal(err)
	}
	dir := statedir.For(filepath.Join(filepath.Dir(a.file), "s"), a.name)
	behind := dir.Sock() + "2"
	if err := os.Rename(dir.Sock(), behind); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", dir.Sock()) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	log := &requestLog{}
	var dialer net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", behind)
	}}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "shim" },
		Transport: transport, FlushInterval: -1,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}, // its client has gone
		ModifyResponse: func(r *http.Response) error {
			if !previous || r.Request.URL.Path != "/state" {
				return nil
			}
			return withoutField(r, "delivers")
		},
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.mu.Lock()
		log.all = append(log.all, r.Method+" "+r.URL.Path)
		log.mu.Unlock()
		proxy.ServeHTTP(w, r)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // ends with Close
	}()
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		_ = server.Close() // some requests have not ended
		<-served
		transport.CloseIdleConnections()
		if err := os.Rename(behind, dir.Sock()); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
	return &ledgerSession{p, a.name, a.file}, log
}

// withoutField removes a field from the JSON object in a response.
func withoutField(r *http.Response, name string) error {
	fields := map[string]json.RawMessage{}
	err := json.NewDecoder(r.Body).Decode(&fields)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	delete(fields, name)
	body, err := json.Marshal(fields)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Length")
	return err
}

// A prompt takes two requests to the shim: its state, and the delivery.
func TestRequestsOfAPrompt(t *testing.T) {
	t.Parallel()
	for name, provider := range map[string]string{"with a profile": "claude", "without a profile": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := beginAs(t, provider, "--think 50ms")
			a, log := a.logRequests(t, false)
			a.prompt(t, "the first one")
			for _, d := range []runtime.Delivery{{Content: runtime.TextContent("a prompt")}, {ID: "r-1", Attempt: 1, Content: runtime.TextContent("one with a name")}} {
				log.reset()
				began := time.Now()
				out, err := a.Deliver(t.Context(), a.name, d)
				if err != nil || out.State != runtime.OutcomeSubmitted {
					t.Fatalf("%+v, %v", out, err)
				}
				requests := log.reset()
				t.Logf("%d requests in %s: %s", len(requests), time.Since(began), out.Evidence)
				if want := []string{"GET /state", "POST /deliver"}; !slices.Equal(requests, want) {
					t.Errorf("the requests are %v, want %v", requests, want)
				}
			}
		})
	}
}

// A shim of the previous release gets each key by a request of its own.
func TestShimOfThePreviousReleaseGetsPrompts(t *testing.T) {
	t.Parallel()
	a := beginAs(t, "claude", "--think 5ms")
	a, log := a.logRequests(t, true)
	a.prompt(t, "a prompt")
	d := runtime.Delivery{ID: "r-1", Attempt: 1, Content: runtime.TextContent("one with a name")}
	for range 2 {
		out, err := a.Deliver(t.Context(), a.name, d)
		if err != nil || out.State != runtime.OutcomeSubmitted {
			t.Fatalf("%+v, %v", out, err)
		}
		settled, err := runtime.Settle(t.Context(), a.Provider, a.name, d)
		if err != nil || settled.State != out.State {
			t.Errorf("%+v, %v, want %+v", settled, err, out)
		}
	}
	if err := a.ClearInput(t.Context(), a.name, ""); err != nil {
		t.Error(err)
	}
	if err := a.Interrupt(a.name); err != nil {
		t.Error(err)
	}
	requests := log.reset()
	for _, r := range requests {
		if strings.HasSuffix(r, "/deliver") || strings.HasSuffix(r, "/resolve") || strings.HasSuffix(r, "/clear-input") || strings.HasSuffix(r, "/interrupt-turn") {
			t.Errorf("the request %s, which such a shim does not know", r)
		}
	}
	if !slices.Contains(requests, "POST /lease") {
		t.Errorf("no lease among %v", requests)
	}
	a.wantPrompts(t, []string{"a prompt", "one with a name", "one with a name"})
}

// An attempt that is repeated is not delivered again: it gets the outcome of the first.
func TestAttemptIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	a := beginAs(t, "claude", "--think 5ms")
	d := runtime.Delivery{ID: "r-1", Attempt: 1, Content: runtime.TextContent("a prompt")}
	var outcomes []runtime.Outcome
	for range 2 {
		out, err := a.Deliver(t.Context(), a.name, d)
		if err != nil || out.State != runtime.OutcomeSubmitted {
			t.Fatalf("%+v, %v", out, err)
		}
		outcomes = append(outcomes, out)
	}
	if outcomes[0].Evidence != outcomes[1].Evidence {
		t.Errorf("%+v", outcomes)
	}
	d = runtime.Delivery{ID: "r-2", Attempt: 1, Content: runtime.TextContent("never sent")}
	if out, err := runtime.Settle(t.Context(), a.Provider, a.name, d); err != nil || !out.Unsent {
		t.Errorf("%+v, %v, want that nothing was sent", out, err)
	}
	if out, err := a.Deliver(t.Context(), a.name, d); err != nil || !out.Unsent {
		t.Errorf("%+v, %v: it is sent after its outcome was asked for", out, err)
	}
	d.Attempt, d.Content = 2, runtime.TextContent("sent")
	if out, err := a.Deliver(t.Context(), a.name, d); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Errorf("%+v, %v", out, err)
	}
	a.wantPrompts(t, []string{"a prompt", "sent"})
}

// A delivery that is cancelled stops before Enter, and its text is removed again.
func TestCanceledDeliveryIsWithdrawn(t *testing.T) {
	t.Parallel()
	a := beginAs(t, "claude", "--slow-read 3s")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	d := runtime.Delivery{ID: "r-1", Attempt: 1, Content: runtime.TextContent("a prompt")}
	out, err := a.Deliver(ctx, a.name, d)
	if !errors.Is(err, context.Canceled) && !out.Unsent {
		t.Fatalf("%+v, %v, want it cancelled", out, err)
	}
	if out, err = runtime.Settle(t.Context(), a.Provider, a.name, d); err != nil || out.Reason != runtime.RefusedWithdrawn {
		t.Errorf("%+v, %v, want it withdrawn", out, err)
	}
	a.prompt(t, "next")
	a.wantPrompts(t, []string{"next"})
}

// A delivery that another process requested is stopped by a withdrawal, and its text is removed again.
func TestDeliveryOfAnotherProcessIsWithdrawn(t *testing.T) {
	t.Parallel()
	a := beginAs(t, "claude", "--slow-read 700ms")
	l, err := a.Session(t.Context(), "deliver to", a.name)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan runtime.Outcome, 1)
	go func() {
		out, _ := l.Client.Deliver(t.Context(), &shim.DeliverRequest{Name: "r-1 1", ID: "r-1", Text: []byte("a prompt"), Rules: l.Rules}) // an error says that it was cancelled
		ended <- out
	}()
	file := statedir.For(filepath.Join(filepath.Dir(a.file), "s"), a.name).Deliveries()
	for end := time.Now().Add(20 * time.Second); statedir.NotExists(file); pause(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the delivery does not begin")
		}
	}
	d := runtime.Delivery{ID: "r-1", Attempt: 1, Content: runtime.TextContent("a prompt")}
	if ok, err := runtime.Withdraw(t.Context(), a.Provider, a.name, d); err != nil || !ok {
		t.Errorf("%v, %v, want it withdrawn", ok, err)
	}
	if out := <-ended; out.State == runtime.OutcomeSubmitted {
		t.Errorf("%+v", out)
	}
	a.prompt(t, "next")
	a.wantPrompts(t, []string{"next"})
}

// If the shim is killed during a delivery, the prompt is unconfirmed if a byte of it may have been sent.
func TestShimIsKilledDuringADelivery(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 60 * time.Millisecond, 120 * time.Millisecond, 300 * time.Millisecond, time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			a := beginAs(t, "", "--slow-read 100ms")
			l, err := a.Session(t.Context(), "kill", a.name)
			if err != nil {
				t.Fatal(err)
			}
			state, err := l.Client.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			killed := make(chan error, 1)
			time.AfterFunc(after, func() { killed <- syscall.Kill(state.Shim.PID, syscall.SIGKILL) })
			out, err := a.Deliver(t.Context(), a.name, runtime.Delivery{ID: "r-1", Attempt: 1, Content: runtime.TextContent("a prompt")})
			if err := <-killed; err != nil {
				t.Error(err)
			}
			records, readErr := ledger.Read(a.file)
			if readErr != nil {
				t.Fatal(readErr)
			}
			keys, taken := len(ledger.Of(records, ledger.Key)), len(ledger.Of(records, ledger.Prompt))
			t.Logf("%+v, %v; the agent has read %d times and accepted %d prompts", out, err, keys, taken)
			switch {
			case out.State == runtime.OutcomeUnconfirmed:
			case out.State == runtime.OutcomeAbsent && taken == 0:
			case out.State == runtime.OutcomeSubmitted && taken == 1:
			default:
				t.Errorf("%+v, %v, and the agent accepted %d prompts", out, err, taken)
			}
		})
	}
}
