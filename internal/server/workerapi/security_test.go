package workerapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/proc"
	"gascity/internal/server/workerapi"
	"gascity/worker"
)

// endpoint is a route with a valid request, except for its run and token.
type endpoint struct {
	id, method, path, body string
	directs                bool // the owner may
}

var endpoints = []endpoint{
	{id: "lifecycle", method: "POST", path: "/lifecycle", body: `{"run_id":"one","event":"dreaming","newer":{"x":1}}`},
	{id: "authorize", method: "POST", path: "/authorize", body: `{"run_id":"one","tool":"Bash","input":{"command":"ls"}}`},
	{id: "telemetry", method: "POST", path: "/telemetry", body: `{"run_id":"one","events":[{"type":"from the future","timestamp":"2026-03-01T15:01:00Z"}]}`},
	{id: "interaction", method: "POST", path: "/interaction", body: `{"run_id":"one","event":"raised","id":"q","kind":"riddle"}`},
	{id: "report-health", method: "POST", path: "/health", body: `{"run_id":"one","status":"radiant","uptime_seconds":1,"current_state":"idle","context_usage":null,"error":null}`},
	{id: "ack", method: "POST", path: "/ack", body: `{"run_id":"one","id":"m","state":"consumed"}`},
	{id: "claim-context", method: "POST", path: "/context/claim", body: `{"run_id":"one","id":"claim-4711","source":"dreamt","limit":9000}`},
	{id: "stream", method: "GET", path: "/stream?run_id=one"},
	{id: "prompt", method: "POST", path: "/prompt", body: `{"run_id":"one","content":"hello","priority":"leisurely"}`, directs: true},
	{id: "context", method: "POST", path: "/context", body: `{"run_id":"one","sections":[{"type":"role","content":"x"}],"mode":"full"}`, directs: true},
	{id: "identity", method: "POST", path: "/identity", body: `{"run_id":"one"}`, directs: true},
	{id: "interrupt", method: "POST", path: "/interrupt", body: `{"run_id":"one"}`, directs: true},
	{id: "health", method: "GET", path: "/health?run_id=one", directs: true},
	{id: "events", method: "GET", path: "/events?run_id=one", directs: true},
}

// testServer is a server under test, by one of its transports.
type testServer struct {
	t      *testing.T
	city   *fakeCity
	client *http.Client
	base   string
	addr   net.Addr
	uid    atomic.Int64 // of who is at the other end

	mu  sync.Mutex
	log bytes.Buffer
}

func (d *testServer) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(p)
}

func (d *testServer) logged() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := d.log.String()
	d.log.Reset()
	return text
}

func newTestServer(t *testing.T, tcp bool) *testServer {
	t.Helper()
	d := &testServer{t: t, city: &fakeCity{}, base: "http://city"}
	d.uid.Store(int64(os.Getuid()))
	closed := make(chan session.StreamItem)
	close(closed)
	d.city.items = closed
	var l net.Listener
	var err error
	path := filepath.Join(shortDir(t), "w.sock")
	if tcp {
		l, err = new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	} else {
		l, err = new(net.ListenConfig).Listen(t.Context(), "unix", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.addr = l.Addr()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, d.addr.Network(), d.addr.String())
	}}
	if tcp {
		d.base = "http://" + d.addr.String()
	}
	d.client = &http.Client{Transport: transport}
	server := workerapi.NewServer(d.city, workerapi.Options{
		Log: slog.New(slog.NewTextHandler(d, nil)), PeerUID: func(*net.UnixConn) (int, int, error) { return int(d.uid.Load()), 77, nil },
		LoopbackUID: func(local, remote netip.AddrPort) (int, error) {
			real, err := proc.LoopbackUID(local, remote)
			if claimed := int(d.uid.Load()); claimed != os.Getuid() {
				return claimed, nil
			}
			return real, err
		},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

// serve serves a city on a Unix socket until the test ends.
func serve(t *testing.T, city workerapi.City) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "w.sock")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, l, city, 200*time.Millisecond)
	return path
}

// serveOn serves a city on a listener. A write to a reader that takes nothing fails after stall.
func serveOn(t *testing.T, l net.Listener, city workerapi.City, stall time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	server := workerapi.NewServer(city, workerapi.Options{Stall: stall})
	go func() { ended <- server.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcw") //nolint:usetesting // a socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// answer is a response that was read to its end.
type answer struct {
	status int
	kind   string // its media type with parameters
	body   string
}

// request sends a request, edited, and returns the answer.
func (d *testServer) request(e endpoint, token string, edit func(*http.Request)) answer {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, e.method, d.base+e.path, strings.NewReader(e.body))
	if err != nil {
		d.t.Fatal(err)
	}
	if e.body != "" {
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if edit != nil {
		edit(req)
	}
	res, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header.Get("Content-Type"), string(body)}
}

// attack is a request that must be refused.
type attack struct {
	name, token string
	edit        func(*http.Request)
	body        func(endpoint) string // nil: as it is; only of endpoints with a body
	code        string
	by          string // "tcp", "unix", empty: both
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func replaced(text string) func(endpoint) string { return func(endpoint) string { return text } }

var attacks = []attack{
	{name: "no token", code: "unauthorized"},
	{name: "an empty token", edit: with("Authorization", "Bearer "), code: "unauthorized"},
	{name: "another scheme", token: tokenOne, edit: with("Authorization", "Basic "+tokenOne), code: "unauthorized"},
	{name: "a wrong token", token: "guess-4711", code: "unauthorized"},
	{name: "another run's token", token: tokenTwo, code: "forbidden"},
	{name: "a dead run's token", token: tokenDead, code: "fenced"},
	{name: "a page's Origin", token: tokenOne, edit: with("Origin", "https://evil.example"), code: "forbidden"},
	{name: "a null Origin", token: tokenOne, edit: with("Origin", "null"), code: "forbidden"},
	{name: "a page's Referer", token: tokenOne, edit: with("Referer", "https://evil.example/x"), code: "forbidden"},
	{name: "a page's fetch", token: tokenOne, edit: with("Sec-Fetch-Site", "cross-site"), code: "forbidden"},
	{name: "another host", token: tokenOne, edit: func(r *http.Request) { r.Host = "evil.example" }, code: "forbidden", by: "tcp"},
	{name: "another port", token: tokenOne, edit: func(r *http.Request) { r.Host = "127.0.0.1:1" }, code: "forbidden", by: "tcp"},
	{name: "a second user", token: tokenOne, code: "forbidden", by: "second user"},
	{name: "no content type", token: tokenOne, edit: func(r *http.Request) { r.Header.Del("Content-Type") }, code: "invalid", body: func(e endpoint) string { return e.body }},
	{name: "a form's content type", token: tokenOne, edit: with("Content-Type", "text/plain"), code: "invalid", body: func(e endpoint) string { return e.body }},
	{name: "garbage", token: tokenOne, body: replaced("\x00\xff{{{"), code: "invalid"},
	{name: "half a body", token: tokenOne, body: func(e endpoint) string { return e.body[:len(e.body)/2] }, code: "invalid"},
	{name: "a list", token: tokenOne, body: replaced(`[1]`), code: "invalid"},
	{name: "nothing", token: tokenOne, body: replaced(" "), code: "invalid"},
	{name: "too much", token: tokenOne, body: func(e endpoint) string { return e.body[:len(e.body)-1] + strings.Repeat(" ", 9<<20) + "}" }, code: "too_large"},
}

// TestEveryAttackOnEveryEndpointIsRefused sends every attack to every endpoint and checks the error
// code, that the city is not called, and that the log has a line without the token.
func TestEveryAttackOnEveryEndpointIsRefused(t *testing.T) {
	for _, place := range []string{"unix", "tcp", "second user", "second user by TCP"} {
		d := newTestServer(t, strings.HasSuffix(strings.ToLower(place), "tcp"))
		second := strings.HasPrefix(place, "second user")
		if second {
			d.uid.Store(int64(os.Getuid()) + 1)
		}
		for _, e := range endpoints {
			for _, a := range attacks {
				if (a.by != "" || second) && !strings.HasPrefix(place, cmp.Or(a.by, "-")) || a.body != nil && e.body == "" {
					continue
				}
				attacked := e
				if a.body != nil {
					attacked.body = a.body(e)
				}
				d.refused(place+" "+e.id+" "+a.name, attacked, a.token, a.edit, a.code)
			}
			if !e.directs && !second {
				d.refused(place+" "+e.id+" the owner for a run", e, tokenOwner, nil, "forbidden")
			}
		}
	}
}

func (d *testServer) refused(name string, e endpoint, token string, edit func(*http.Request), code string) {
	d.t.Helper()
	got := d.request(e, token, edit)
	var p worker.Problem
	if err := json.Unmarshal([]byte(got.body), &p); err != nil || p.Code != code || p.Status != got.status || got.kind != "application/problem+json" {
		d.t.Errorf("%s: %d %.300s, want %s", name, got.status, got.body, code)
	}
	if took := d.city.resetCalls(); len(took) != 0 {
		d.t.Errorf("%s: it has reached the city: %v", name, took)
	}
	log := d.logged()
	if !strings.Contains(log, "refused") || !strings.Contains(log, "code="+code) {
		d.t.Errorf("%s: logged %q", name, log)
	}
	if strings.Contains(log+got.body, "4711") {
		d.t.Errorf("%s: the token is in the answer or in the log:\n%s\n%s", name, got.body, log)
	}
}

// TestWhatIsInOrderIsServed sends valid requests on both transports, from the run's worker and,
// where allowed, from the owner. It shows that the attacks of the other tests fail for their own
// reasons.
func TestWhatIsInOrderIsServed(t *testing.T) {
	doc := described(t)
	for _, tcp := range []bool{false, true} {
		d := newTestServer(t, tcp)
		for _, e := range endpoints {
			tokens := []string{tokenOne}
			if e.directs {
				tokens = append(tokens, tokenOwner)
			}
			for _, token := range tokens {
				answer := d.request(e, token, nil)
				if got := d.city.resetCalls(); answer.status >= 300 || len(got) != 1 || got[0] != e.id+" one" {
					t.Errorf("%s, TCP %t: %d %s, reached the city as %v", e.id, tcp, answer.status, answer.body, got)
				}
				doc.check(t, e, answer)
			}
		}
		for _, err := range []error{worker.ErrNotFound, worker.ErrUnavailable, errOdd} {
			d.city.failWith(err)
			for _, e := range endpoints {
				answer := d.request(e, tokenOne, nil)
				doc.check(t, e, answer)
				if answer.status < 400 || strings.Contains(answer.body, "secret detail") {
					t.Errorf("%s with a city that says %v: %d %s", e.id, err, answer.status, answer.body)
				}
			}
			d.city.resetCalls()
		}
		if log := d.logged(); strings.Contains(log, "4711") {
			t.Errorf("a token is in the log:\n%s", log)
		}
	}
}

// TestPathsAndMethodsThatThereAreNot checks the answers for unknown paths and methods.
func TestPathsAndMethodsThatThereAreNot(t *testing.T) {
	d := newTestServer(t, false)
	for _, e := range []endpoint{{method: "GET", path: "/"}, {method: "DELETE", path: "/prompt"}, {method: "GET", path: "/authorize"}, {method: "POST", path: "/stream", body: "{}"}, {method: "POST", path: "//prompt", body: "{}"}, {method: "POST", path: "/x/../prompt", body: "{}"}, {method: "GET", path: "/health/"}} {
		d.refused(e.method+" "+e.path, e, tokenOne, nil, "not_found")
	}
}

// TestMissingRunMeansTheRunOfTheCaller checks that a request without a run_id is about the run of
// the caller, and is refused for the owner, who has none.
func TestMissingRunMeansTheRunOfTheCaller(t *testing.T) {
	d, doc := newTestServer(t, false), described(t)
	for _, e := range endpoints {
		e.path, _, _ = strings.Cut(e.path, "?")
		e.body = strings.Replace(e.body, `"run_id":"one"`, `"x":0`, 1)
		doc.checkRequest(t, e)
		d.request(e, tokenTwo, nil)
		if got := d.city.resetCalls(); len(got) != 1 || got[0] != e.id+" two" {
			t.Errorf("%s without a run reached the city as %v", e.id, got)
		}
		answer := d.request(e, tokenOwner, nil)
		if got := d.city.resetCalls(); e.id == "events" && (len(got) != 1 || got[0] != "events ") || e.id != "events" && (len(got) != 0 || answer.status < 400) {
			t.Errorf("%s of the owner without a run: %d %s, %v", e.id, answer.status, answer.body, got)
		}
	}
}

func TestNumbersOfEvents(t *testing.T) {
	d := newTestServer(t, false)
	for _, number := range []string{"-1", "x", "18446744073709551615", "9007199254740993"} {
		d.refused("stream after "+number, endpoint{method: "GET", path: "/stream?run_id=one"}, tokenOne, with("Last-Event-ID", number), "invalid")
		d.refused("so many events: "+number, endpoint{method: "GET", path: "/events?run_id=one&limit=" + number}, tokenOne, nil, "invalid")
		d.refused("events after "+number, endpoint{method: "GET", path: "/events?run_id=one&after=" + number}, tokenOne, nil, "invalid")
	}
}

// TestPortFileIsPrivate checks that the port of the loopback listener is written to a file that
// only this user can read.
func TestPortFileIsPrivate(t *testing.T) {
	d := newTestServer(t, true)
	dir := t.TempDir()
	port, err := workerapi.OpenPort(t.Context(), dir, filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	if err := port.Announce("rig/agent"); err != nil {
		t.Fatal(err)
	}
	path := workerapi.PortFile(dir, "rig/agent")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || filepath.Dir(path) != dir {
		t.Fatalf("the port file %s: %v, %v", path, info, err)
	}
	text, err := os.ReadFile(path)
	if err != nil || "http://127.0.0.1:"+strings.TrimSpace(string(text)) != port.URL() {
		t.Errorf("the port file says %q, %v; the port is %s", text, err, port.URL())
	}
	for range 2 {
		if err := port.RemoveFile("rig/agent"); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	host, _, err := net.SplitHostPort(d.addr.String())
	if err != nil || host != "127.0.0.1" {
		t.Errorf("it listens on %s", d.addr)
	}
	c := &worker.Client{URL: d.base, Token: tokenOne, RunID: "one"}
	defer c.Close()
	if decision, err := c.Authorize(t.Context(), worker.Call{Tool: "Bash"}); err != nil || !decision.Allowed {
		t.Errorf("by the port: %+v, %v", decision, err)
	}
}
