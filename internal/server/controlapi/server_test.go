package controlapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/server/unixhttp"
	"gascity/test/fakecity"
)

// deadline is far beyond what any test needs.
const deadline = 20 * time.Second

// serve runs a server for a city of two agents and returns a client of it.
func serve(t *testing.T, opts Options) (*fakecity.City, *client.Client) {
	t.Helper()
	city := &fakecity.City{Root: shortDir(t), Version: "test"}
	city.Add("worker", client.StateRunning)
	city.Add("dir/helper", client.StateStopped)
	return city, serveCity(t, city, city.Root, opts)
}

func serveCity(t *testing.T, city City, root string, opts Options) *client.Client {
	t.Helper()
	c, _ := start(t, NewServer(city, opts), root)
	return c
}

// start runs the server until the test ends or stop is called.
func start(t *testing.T, s *Server, root string) (c *client.Client, stop func()) {
	t.Helper()
	l, err := unixhttp.Listen(t.Context(), client.SocketPath(root))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	c = &client.Client{Root: root, Version: "test"}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	t.Cleanup(func() { c.Close(); stop() })
	return c, stop
}

// shortDir returns a folder whose path leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gc-api-") //nolint:usetesting // its paths are too long for sockets
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

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// TestEveryRouteAnswersAsDescribed calls each method of the client over a real
// socket and checks the raw answer against the description of its route.
func TestEveryRouteAnswersAsDescribed(t *testing.T) {
	city := &fakecity.City{Root: shortDir(t), Version: "test"}
	city.Add("worker", client.StateRunning)
	city.Add("asker", client.StateRunning)
	city.Set("asker", func(s *client.Session) { s.Activity.State = "waiting" })
	city.Add("deep", client.StateRunning)
	city.Set("deep", func(s *client.Session) { s.Activity.State = "busy" })
	city.Emit("session.running", client.Agent{Name: "worker"}, "hello")
	n, cost := int64(1), 0.5
	sum := client.UsageSum{Group: "worker", Tokens: client.UsageTokens{Input: &n}, CostUSD: &cost, First: time.Now()}
	city.SetUsage(client.Usage{Groups: []client.UsageSum{sum, {}}}, client.Budget{Name: "day", Until: time.Now()})
	server := NewServer(city, Options{Version: "test"})
	check := &describedTransport{t: t, server: server, seen: map[string]bool{}}
	root := city.Root
	_, _ = start(t, server, root)
	c := &client.Client{Root: root, Version: "test", Dial: check.dial(client.SocketPath(root))}
	defer c.Close()
	ctx := bounded(t)

	calls := map[string]func() error{
		"status":     func() error { _, err := c.Status(ctx); return err },
		"plan":       func() error { _, err := c.Plan(ctx); return err },
		"config":     func() error { _, err := c.Config(ctx); return err },
		"providers":  func() error { _, err := c.Providers(ctx); return err },
		"session":    func() error { _, err := c.Session(ctx, "worker"); return err },
		"peek":       func() error { _, err := c.Peek(ctx, "worker", 5); return err },
		"nudge":      func() error { _, err := c.Nudge(ctx, "worker", client.NudgeRequest{Text: "hi"}); return err },
		"interrupt":  func() error { _, err := c.Interrupt(ctx, "worker", client.LifecycleRequest{}); return err },
		"keys":       func() error { _, err := c.Keys(ctx, "worker", client.KeysRequest{Keys: []string{"Enter"}}); return err },
		"clear":      func() error { _, err := c.ClearInput(ctx, "worker", client.LifecycleRequest{}); return err },
		"copy":       func() error { _, err := c.Copy(ctx, "worker", client.CopyRequest{Src: "/x"}); return err },
		"kill":       func() error { _, err := c.Kill(ctx, "worker", client.LifecycleRequest{}); return err },
		"reload":     func() error { _, err := c.Reload(ctx); return err },
		"restart":    func() error { _, err := c.Restart(ctx, "worker"); return err },
		"failed":     func() error { _, err := c.StartFailed(ctx, "worker"); return err },
		"apply":      func() error { _, err := c.Apply(ctx, "worker"); return err },
		"pastEvents": func() error { _, err := c.PastEvents(ctx, 0); return err },
		"logs":       func() error { return readLogs(ctx, c) },
		"events":     func() error { return readEvents(ctx, c) },
		"explain":    func() error { _, err := c.Explain(ctx, "worker"); return err },
		"preview":    func() error { _, err := c.Preview(ctx, client.PreviewRequest{Config: "x = 1"}); return err },
		"prompts":    func() error { return walkPrompts(ctx, c) },
		"questions":  func() error { return walkQuestions(ctx, c) },
		"conditions": func() error { return walkConditions(ctx, c) },
		"usage":      func() error { _, err := c.Usage(ctx, client.UsageRequest{}); return err },
		"budgets":    func() error { _, err := c.Budgets(ctx); return err },
		"lift":       func() error { _, err := c.LiftBudget(ctx, "day", client.LiftRequest{}); return err },
		"metrics":    func() error { _, err := c.Metrics(ctx); return err },
	}
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := walkLife(ctx, c); err != nil {
		t.Errorf("lifecycle: %v", err)
	}
	for name, call := range map[string]func() error{
		"stopCity":       func() error { _, err := c.StopCity(ctx); return err },
		"stopController": func() error { _, err := c.StopController(ctx); return err },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, row := range routes() {
		if !check.saw(row.id) {
			t.Errorf("no answer of %s %s was checked", row.method, row.path)
		}
	}
}

func walkPrompts(ctx context.Context, c *client.Client) error {
	r, err := c.Nudge(ctx, "deep", client.NudgeRequest{Text: "later", Priority: "urgent", Key: "k", TTL: time.Hour, Source: "me"})
	if err != nil {
		return err
	}
	text := "even later"
	_, editErr := c.EditPrompt(ctx, r.ID, client.EditRequest{Text: &text})
	list, listErr := c.Queue(ctx, "deep", client.WithEnded)
	if len(list) == 0 {
		listErr = errors.New("the queue is empty")
	}
	_, receiptErr := c.Receipt(ctx, r.ID, "")
	_, cancelErr := c.CancelPrompt(ctx, r.ID)
	again, retryErr := c.RetryPrompt(ctx, r.ID, client.RetryRequest{Source: "me"})
	if again.RetryOf != r.ID {
		retryErr = errors.Join(retryErr, fmt.Errorf("the retry is of %q", again.RetryOf))
	}
	ended, endErr := c.Receipt(ctx, r.ID, client.ReceiptSubmitted)
	if ended.State != client.ReceiptCancelled {
		endErr = errors.Join(endErr, fmt.Errorf("the end is %q", ended.State))
	}
	return errors.Join(editErr, listErr, receiptErr, cancelErr, retryErr, endErr)
}

func walkQuestions(ctx context.Context, c *client.Client) error {
	open, err := c.Pending(ctx, "", client.OnlyOpen)
	if err != nil || len(open) != 1 {
		return fmt.Errorf("pending are %v, %w", open, err)
	}
	_, err = c.Respond(ctx, open[0].ID, client.RespondRequest{Option: "2", By: "me"})
	return err
}

func walkConditions(ctx context.Context, c *client.Client) error {
	if _, err := c.Await(ctx, client.WaitRequest{Target: "worker", For: client.WaitRunning}); err != nil {
		return err
	}
	w, err := c.AddWait(ctx, client.WaitRequest{Target: "worker", For: client.WaitBusy, Owner: "asker"})
	if err != nil {
		return err
	}
	_, listErr := c.Waits(ctx, client.WithEnded)
	_, cancelErr := c.CancelWait(ctx, w.ID)
	return errors.Join(listErr, cancelErr)
}

func walkLife(ctx context.Context, c *client.Client) error {
	req := client.LifecycleRequest{Reason: "a test", Timeout: time.Minute}
	verb := func(do func(context.Context, string, client.LifecycleRequest) (client.Done, error)) error {
		_, err := do(ctx, "worker", req)
		return err
	}
	_, stateErr := c.DrainState(ctx, "worker")
	return errors.Join(verb(c.RequestRestart), verb(c.Sleep), verb(c.Wake), verb(c.Suspend), verb(c.Resume), verb(c.Reset), verb(c.Drain), stateErr, verb(c.DrainAck), verb(c.Wake))
}

func readLogs(ctx context.Context, c *client.Client) error {
	body, err := c.Logs(ctx, "worker", client.LogQuery{})
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.ReadAll(body)
	return err
}

func readEvents(ctx context.Context, c *client.Client) error {
	for _, err := range c.Events(ctx, 0) {
		return err
	}
	return errors.New("no event")
}

// describedTransport reads along on the client's connections: it replays each
// request to the server's handler and validates that answer.
type describedTransport struct {
	t      *testing.T
	server *Server
	mu     sync.Mutex
	seen   map[string]bool
}

// dial connects through a proxy that validates what passes.
func (d *describedTransport) dial(socket string) func(context.Context) (net.Conn, error) {
	target := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	d.t.Cleanup(target.CloseIdleConnections)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.forward(target, w, r) }))
	d.t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	return func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", proxy.Listener.Addr().String())
	}
}

func (d *describedTransport) forward(target *http.Transport, w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = "http", client.APIHost
	res, err := target.RoundTrip(out)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	op := d.operation(r)
	if strings.Contains(res.Header.Get("Content-Type"), "json") {
		body, _ := io.ReadAll(res.Body)
		d.validate(op, res, body)
		_, _ = w.Write(body)
		return
	}
	d.validate(op, res, nil)
	buffer := make([]byte, 4096)
	for {
		n, err := res.Body.Read(buffer)
		if n > 0 {
			_, _ = w.Write(buffer[:n])
			_ = http.NewResponseController(w).Flush()
		}
		if err != nil {
			return
		}
	}
}

func (d *describedTransport) operation(r *http.Request) *huma.Operation {
	pattern := r.URL.Path
	if rest, ok := strings.CutPrefix(pattern, "/v1/sessions/"); ok {
		_, verb, has := strings.Cut(rest, "/")
		pattern = "/v1/sessions/{target}"
		if has {
			pattern += "/" + verb
		}
	}
	for _, list := range []string{"/v1/receipts/", "/v1/pending/", "/v1/waits/"} {
		if rest, ok := strings.CutPrefix(pattern, list); ok {
			_, verb, has := strings.Cut(rest, "/")
			pattern = list + "{id}"
			if has {
				pattern += "/" + verb
			}
		}
	}
	if rest, ok := strings.CutPrefix(pattern, "/v1/budgets/"); ok {
		_, verb, _ := strings.Cut(rest, "/")
		pattern = "/v1/budgets/{name}/" + verb
	}
	item := d.server.api.OpenAPI().Paths[pattern]
	if item == nil {
		d.t.Errorf("%s %s is not described", r.Method, r.URL.Path)
		return nil
	}
	return map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	}[r.Method]
}

func (d *describedTransport) validate(op *huma.Operation, res *http.Response, body []byte) {
	if op == nil {
		return
	}
	d.mu.Lock()
	d.seen[op.OperationID] = true
	d.mu.Unlock()
	described := op.Responses[strconv.Itoa(res.StatusCode)]
	if described == nil {
		described = op.Responses["default"]
	}
	kind := res.Header.Get("Content-Type")
	media := described.Content[kind]
	if media == nil {
		d.t.Errorf("%s answered %d as %q, which is not described", op.OperationID, res.StatusCode, kind)
		return
	}
	if body == nil {
		return
	}
	var value any
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&value); err != nil {
		d.t.Errorf("%s answered no JSON: %v", op.OperationID, err)
		return
	}
	result := &huma.ValidateResult{}
	registry := d.server.api.OpenAPI().Components.Schemas
	huma.Validate(registry, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, value, result)
	for _, err := range result.Errors {
		d.t.Errorf("%s answered %s: %v", op.OperationID, body, err)
	}
}

func (d *describedTransport) saw(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen[id]
}

func TestErrorsKeepTheirSentinels(t *testing.T) {
	city := &faultyCity{City: &fakecity.City{Root: shortDir(t)}}
	c := serveCity(t, city, city.Root, Options{})
	for _, want := range []error{
		client.ErrNotFound, client.ErrRefused, client.ErrTimeout, client.ErrInvalid,
		client.ErrUnsupported, client.ErrForbidden, client.ErrUnavailable,
	} {
		city.fail(want)
		_, err := c.Status(bounded(t))
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "the remedy") {
			t.Errorf("a city's %v arrived as %v", want, err)
		}
	}
	city.fail(errors.New("odd"))
	_, err := c.Status(bounded(t))
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok || problem.Code != "internal" || problem.Status != http.StatusInternalServerError {
		t.Errorf("an error without sentinel arrived as %#v", err)
	}
}

// faultyCity fails every status with one error.
type faultyCity struct {
	*fakecity.City
	mu  sync.Mutex
	err error
}

func (c *faultyCity) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *faultyCity) Status(context.Context) (client.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return client.Status{}, &wrapped{c.err}
}

type wrapped struct{ err error }

func (w *wrapped) Error() string { return w.err.Error() + "; here is the remedy" }
func (w *wrapped) Unwrap() error { return w.err }

func TestAPanicIsAProblem(t *testing.T) {
	city := &panickingCity{City: &fakecity.City{Root: shortDir(t)}}
	c := serveCity(t, city, city.Root, Options{})
	if _, err := c.Status(bounded(t)); err == nil || !strings.Contains(err.Error(), "defect") {
		t.Errorf("a panicking handler answered %v, want a problem that names a defect", err)
	}
	if _, err := c.Plan(bounded(t)); err != nil {
		t.Errorf("the server does not answer after a panic: %v", err)
	}
}

type panickingCity struct{ *fakecity.City }

func (*panickingCity) Status(context.Context) (client.Status, error) { panic("boom") }

func TestNamesWithSlashesReachTheirTarget(t *testing.T) {
	_, c := serve(t, Options{})
	got, err := c.Session(bounded(t), "dir/helper")
	if err != nil || got.Name != "dir/helper" {
		t.Errorf("session of dir/helper is %q, %v", got.Name, err)
	}
	if _, err := c.Session(bounded(t), "../x y?z"); !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), `"../x y?z"`) {
		t.Errorf("an odd name gave %v, want not found with the name in it", err)
	}
}

func TestOneMiBPromptsArrive(t *testing.T) {
	city, c := serve(t, Options{})
	text := strings.Repeat("\x01\"é€", 1<<20/8)
	if _, err := c.Nudge(bounded(t), "worker", client.NudgeRequest{Text: text}); err != nil {
		t.Fatal(err)
	}
	if got := city.Prompts(); len(got) != 1 || !strings.HasSuffix(got[0], ": "+text) {
		t.Error("the prompt did not arrive unchanged")
	}
}

func TestVersionsAreExchanged(t *testing.T) {
	root := shortDir(t)
	_, _ = start(t, NewServer(&fakecity.City{Root: root}, Options{Version: "2.0"}), root)
	var got []string
	c := &client.Client{Root: root, Version: "1.0", OnSkew: func(ours, theirs string) { got = append(got, ours+"/"+theirs) }}
	defer c.Close()
	for range 3 {
		if _, err := c.Status(bounded(t)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"1.0/2.0"}, got); diff != "" {
		t.Errorf("skew was reported as (-want +got):\n%s", diff)
	}
}

// TestAVerbOutlivesItsCaller shows that a caller that hangs up does not break
// off what it began.
func TestAVerbOutlivesItsCaller(t *testing.T) {
	city := &slowCity{City: &fakecity.City{Root: shortDir(t)}, entered: make(chan struct{}), proceed: make(chan struct{}), ended: make(chan error, 1)}
	c := serveCity(t, city, city.Root, Options{})
	ctx, hangUp := context.WithCancel(bounded(t))
	called := make(chan error, 1)
	go func() { _, err := c.Interrupt(ctx, "worker", client.LifecycleRequest{}); called <- err }()
	<-city.entered
	hangUp()
	if err := <-called; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	close(city.proceed)
	if err := <-city.ended; err != nil {
		t.Errorf("the verb was broken off: %v", err)
	}
}

type slowCity struct {
	*fakecity.City
	entered, proceed chan struct{}
	ended            chan error
}

func (c *slowCity) Interrupt(ctx context.Context, _ string, _ client.LifecycleRequest) (client.Done, error) {
	close(c.entered)
	<-c.proceed
	c.ended <- ctx.Err()
	return client.Done{}, nil
}

// TestAVerbMayBeMeantForOneInstance covers all verbs that act upon what runs.
func TestAVerbMayBeMeantForOneInstance(t *testing.T) {
	city, c := serve(t, Options{})
	city.Set("worker", func(s *client.Session) { s.Instance = "present" })
	ctx := bounded(t)
	for _, tt := range []struct {
		instance string
		want     error
	}{{"former", client.ErrRefused}, {"present", nil}, {"", nil}} {
		_, interrupt := c.Interrupt(ctx, "worker", client.LifecycleRequest{Instance: tt.instance})
		_, keys := c.Keys(ctx, "worker", client.KeysRequest{Keys: []string{"Enter"}, Instance: tt.instance})
		_, copied := c.Copy(ctx, "worker", client.CopyRequest{Src: "/x", Instance: tt.instance})
		_, restart := c.RestartInstance(ctx, "worker", tt.instance)
		_, kill := c.Kill(ctx, "worker", client.LifecycleRequest{Instance: tt.instance})
		for verb, err := range map[string]error{"interrupt": interrupt, "keys": keys, "copy": copied, "restart": restart, "kill": kill} {
			if !errors.Is(err, tt.want) {
				t.Errorf("%s of the instance %q answers %v, want %v", verb, tt.instance, err, tt.want)
			}
		}
	}
}

func TestAnEndNeedsNoBody(t *testing.T) {
	city, _ := serve(t, Options{})
	h := rawClient(t, city.Root)
	for _, verb := range []string{"interrupt", "kill"} {
		if got := request(t, h, http.MethodPost, "/v1/sessions/worker/"+verb, map[string]string{client.VersionHeader: "test"}); got != http.StatusOK {
			t.Errorf("%s without a body answers %d, want 200", verb, got)
		}
	}
}

// TestNoPathIsRedirected sends paths that a mux would clean: each is answered with "not found"
// and none with a redirect, which a client would follow with a Referer.
func TestNoPathIsRedirected(t *testing.T) {
	city, c := serve(t, Options{})
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", client.SocketPath(city.Root))
	}}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer web.CloseIdleConnections()
	for _, path := range []string{"/v1/sessions/../peek", "/v1/sessions/%2e%2e/peek", "/v1//status", "/v1/sessions/./logs", "/v1/sessions/worker%2f%2fx/peek"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+client.APIHost+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s answers %s, want 404", path, res.Status)
		}
	}
	for _, name := range []string{"..", ".", "dir/../worker", "worker/", "/worker", "dir//helper"} {
		if _, err := c.Peek(t.Context(), name, 0); !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), "gc status lists them") {
			t.Errorf("peek %q: %v, want that the name is unknown", name, err)
		}
	}
	if _, err := c.Peek(t.Context(), "dir/helper", 0); err != nil {
		t.Error(err)
	}
}

// TestAPromptArrivesByteForByteOrIsRefused sends bodies that the JSON decoder would change without
// a word: half of a surrogate pair and bytes that are not UTF-8.
func TestAPromptArrivesByteForByteOrIsRefused(t *testing.T) {
	city, _ := serve(t, Options{})
	h := rawClient(t, city.Root)
	for body, want := range map[string]int{
		`{"text":"\ud83d\ude00 ok"}`: http.StatusOK, `{"text":"\ud800"}`: http.StatusBadRequest, "{\"text\":\"\xff\"}": http.StatusBadRequest,
	} {
		req, err := http.NewRequestWithContext(bounded(t), http.MethodPost, "http://city/v1/sessions/worker/nudge", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(client.VersionHeader, "test")
		req.Header.Set("Content-Type", "application/json")
		res, err := h.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%q is answered with %d: %s; want %d", body, res.StatusCode, text, want)
		}
	}
	if got := city.Prompts(); len(got) != 1 || !strings.HasSuffix(got[0], "😀 ok") {
		t.Errorf("the agent got %q", got)
	}
}
