package controlapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	pathpkg "path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gascity/client"
	"gascity/internal/retry"
	"gascity/internal/server/controlapi"
	"gascity/runtime"
	"gascity/test/citytest"
)

// deadline is far beyond what any test needs.
const deadline = 20 * time.Second

const cityConfig = `
[daemon]
shutdown_timeout = "50ms"
[[usage.budgets]]
name = "day"
measure = "tokens"
limit = 1000
[[agents]]
name = "worker"
start_command = "fake_agent"
[[agents]]
name = "helper"
dir = "dir"
work_dir = "."
start_command = "fake_agent"
[[agents]]
name = "asker"
start_command = """fake_agent '{"ask":{"kind":"permission","prompt":"May I?","options":["Yes","No"]}}'"""
[[agents]]
name = "deep"
start_command = """fake_agent '{"busy":true}'"""
`

// newCity returns a city with agents that are idle, busy or ask a question.
func newCity(t *testing.T) *citytest.City {
	t.Helper()
	city := citytest.New(t, cityConfig)
	city.AwaitRunning("worker", runtime.ActivityIdle)
	city.AwaitRunning("deep", runtime.ActivityBusy)
	city.Await("asker", func(a client.Agent) bool { return a.Pending > 0 })
	return city
}

// delivered returns the texts of the prompts that agents have got.
func delivered(city *citytest.City) []string {
	var texts []string
	for _, call := range city.Agents.Calls("Deliver") {
		if d, ok := call.Args[0].(runtime.Delivery); ok {
			texts = append(texts, runtime.FlattenText(d.Content))
		}
	}
	return texts
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// first reads the first value of a stream and returns its error.
func first[T any](stream iter.Seq2[T, error]) error {
	for _, err := range stream {
		return err
	}
	return io.ErrUnexpectedEOF
}

// TestEveryRouteAnswersAsDescribed calls each method of the client over a socket and checks that the answer agrees with the
// description of its route.
func TestEveryRouteAnswersAsDescribed(t *testing.T) {
	city := newCity(t)
	check := &describedTransport{t: t, server: controlapi.NewServer(nil, controlapi.Options{}), seen: map[string]bool{}}
	walkDoctor(t, check)
	c := &client.Client{Root: city.Root, Version: "test", Dial: check.dial(client.SocketPath(city.Root))}
	defer c.Close()
	ctx := bounded(t)

	calls := map[string]func() error{
		"status":    func() error { _, err := c.Status(ctx); return err },
		"plan":      func() error { _, err := c.Plan(ctx); return err },
		"config":    func() error { _, err := c.Config(ctx); return err },
		"providers": func() error { _, err := c.Providers(ctx); return err },
		"session":   func() error { _, err := c.Session(ctx, "worker"); return err },
		"peek":      func() error { _, err := c.Peek(ctx, "worker", 5); return err },
		"screen": func() error {
			s, err := c.Screen(ctx, "worker")
			if err == nil && (s.Cols < 2 || s.Rows < 2 || !strings.Contains(s.Output, "fake agent")) {
				t.Errorf("the screen is %+v", s)
			}
			return err
		},
		"watch-status": func() error { return first(c.WatchStatus(ctx)) },
		"watch-screen": func() error { return first(c.WatchScreen(ctx, "worker")) },
		"nudge":        func() error { _, err := c.Nudge(ctx, "worker", client.NudgeRequest{Text: "hi"}); return err },
		"interrupt":    func() error { _, err := c.Interrupt(ctx, "worker", client.LifecycleRequest{}); return err },
		"keys":         func() error { _, err := c.Keys(ctx, "worker", client.KeysRequest{Keys: []string{"Enter"}}); return err },
		"clear":        func() error { _, err := c.ClearInput(ctx, "worker", client.LifecycleRequest{}); return err },
		"lines": func() error {
			s, err := c.ScreenLines(ctx, "worker")
			if err == nil && (s.Cols < 2 || s.Rows < 2 || s.Output != "" || !strings.Contains(textOf(s.Lines), "fake agent")) {
				t.Errorf("the lines of the screen are %+v", s)
			}
			return err
		},
		"screens": func() error { return readScreens(ctx, c) },
		"changes": func() error { // this city finds no git; the script diff of cmd/gc has one
			_, err := c.Changes(ctx, "worker", client.ChangesQuery{Path: "a b", Since: client.SinceBranch, Diff: true, Bytes: 1})
			if !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "git is not found in PATH of the controller") {
				return fmt.Errorf("without git the error is %w", err)
			}
			return nil
		},
		"copy": func() error {
			_, err := c.Copy(ctx, "worker", client.CopyRequest{Src: city.Root + "/city.toml", RelDst: "copied"})
			return err
		},
		"kill":       func() error { _, err := c.Kill(ctx, "worker", client.LifecycleRequest{}); return err },
		"reload":     func() error { _, err := c.Reload(ctx); return err },
		"restart":    func() error { _, err := c.Restart(ctx, "worker"); return err },
		"failed":     func() error { _, err := c.StartFailed(ctx, "worker"); return err },
		"apply":      func() error { _, err := c.Apply(ctx, "worker"); return err },
		"pastEvents": func() error { _, err := c.PastEvents(ctx, 0); return err },
		"logs":       func() error { return readLogs(ctx, c) },
		"events":     func() error { return readEvents(ctx, c) },
		"explain":    func() error { _, err := c.Explain(ctx, "worker"); return err },
		"preview":    func() error { _, err := c.Preview(ctx, client.PreviewRequest{Config: cityConfig}); return err },
		"prompts":    func() error { return walkPrompts(ctx, c) },
		"questions":  func() error { return walkQuestions(ctx, c) },
		"conditions": func() error { return walkConditions(ctx, c) },
		"usage":      func() error { _, err := c.Usage(ctx, client.UsageRequest{}); return err },
		"budgets":    func() error { _, err := c.Budgets(ctx); return err },
		"lift":       func() error { _, err := c.LiftBudget(ctx, "day", client.LiftRequest{}); return err },
		"web":        func() error { return walkWeb(ctx, c) },
		"metrics":    func() error { _, err := c.Metrics(ctx); return err },
		"checkTool":  func() error { _, err := c.CheckTool(ctx, client.GuardCheckRequest{Command: "ls"}); return err },
		"decisions":  func() error { _, err := c.GuardDecisions(ctx, client.GuardQuery{}); return err },
		"copyOut": func() error {
			return readFile(c.CopyOut(ctx, "worker", client.CopyOutRequest{Path: "city.toml", Plain: true}))
		},
		"notify": func() error {
			_, err := c.Notifications(ctx)
			_, tested := c.TestNotify(ctx, client.NotifyTestRequest{}) // the city has no sink
			_, retried := c.RetryNotification(ctx, "n-none")
			if errors.Is(tested, client.ErrRefused) && errors.Is(retried, client.ErrNotFound) {
				return err
			}
			return errors.Join(err, tested, retried)
		},
		"present": func() error { return walkPresence(ctx, c) },
	}
	calls["configFile"] = func() error { return walkConfig(ctx, c) }
	for name, call := range calls {
		city.AwaitRunning("worker")
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, row := range controlapi.Routes() { // a route that reads needs no line above
		path := strings.ReplaceAll(row.Path, "{target}", "worker")
		if row.Method != http.MethodGet || strings.Contains(path, "{") || check.saw(row.ID) {
			continue
		}
		if err := check.get(ctx, path); err != nil {
			t.Errorf("GET %s: %v", path, err)
		}
	}
	if err := walkLife(ctx, city, c); err != nil {
		t.Errorf("lifecycle: %v", err)
	}
	if _, err := c.StopController(ctx); err != nil {
		t.Errorf("stopController: %v", err)
	}
	city.Wait()
	city.Start()
	if _, err := c.StopCity(ctx); err != nil {
		t.Errorf("stopCity: %v", err)
	}
	city.Wait()
	for _, row := range controlapi.Routes() {
		if !check.saw(row.ID) {
			t.Errorf("no answer of %s %s was checked", row.Method, row.Path)
		}
	}
}

// textOf returns the text of lines.
func textOf(lines []client.ScreenLine) string {
	var b strings.Builder
	for _, line := range lines {
		for _, span := range line.Spans {
			b.WriteString(span.Text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// readScreens reads the screens of two targets: the first shows its screen and then a change, the second has none.
func readScreens(ctx context.Context, c *client.Client) error {
	ended, prompted := "", false
	for u, err := range c.Screens(ctx, []string{"worker", "nobody"}) {
		switch {
		case err != nil:
			return err
		case u.Target == "nobody":
			ended = u.Ended
		case u.All && !prompted && strings.Contains(textOf(u.Lines), "fake agent"):
			prompted = true
			if _, err := c.Nudge(ctx, "worker", client.NudgeRequest{Text: "the marker"}); err != nil {
				return err
			}
		}
		if prompted && strings.Contains(textOf(u.Lines), "the marker") && ended != "" {
			return nil
		}
	}
	return fmt.Errorf("the stream ended: prompted %t, the missing target: %q", prompted, ended)
}

func walkPrompts(ctx context.Context, c *client.Client) error {
	r, err := c.Nudge(ctx, "deep", client.NudgeRequest{Text: "later", Key: "k", TTL: time.Hour, Source: "me"})
	if err != nil {
		return err
	}
	text := "even later"
	_, editErr := c.EditPrompt(ctx, r.ID, client.EditRequest{Text: &text})
	whole, textErr := c.PromptText(ctx, r.ID)
	if whole.Text != text {
		textErr = errors.Join(textErr, fmt.Errorf("the whole text is %q", whole.Text))
	}
	_, moveErr := c.MovePrompt(ctx, r.ID, client.MoveRequest{First: true, By: "me"})
	editErr = errors.Join(editErr, textErr, moveErr)
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
	if _, err := c.AllowAlways(ctx, open[0].ID, client.AlwaysRequest{Rule: "x"}); !errors.Is(err, client.ErrRefused) { // it is about no tool call
		return fmt.Errorf("a rule without a tool call: %w", err)
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

func walkLife(ctx context.Context, city *citytest.City, c *client.Client) error {
	req := client.LifecycleRequest{Reason: "a test", Timeout: time.Minute}
	verb := func(do func(context.Context, string, client.LifecycleRequest) (client.Done, error)) error {
		_, err := do(ctx, "worker", req)
		return err
	}
	running := func() { req.Instance = city.AwaitRunning("worker").Instance }
	running()
	sleep := verb(c.Sleep)
	req.Instance = "" // that instance may have stopped already
	sleep = errors.Join(sleep, verb(c.Wake))
	running()
	req.Instance = ""
	suspend := errors.Join(verb(c.Suspend), verb(c.Resume), verb(c.Reset))
	running()
	drain := verb(c.Drain)
	_, stateErr := c.DrainState(ctx, "worker")
	ack := errors.Join(verb(c.DrainAck))
	req.Instance = ""
	wake := verb(c.Wake)
	running()
	return errors.Join(sleep, suspend, drain, stateErr, ack, wake, verb(c.RequestRestart))
}

// walkPresence is counted as present until it leaves.
func walkPresence(ctx context.Context, c *client.Client) error {
	seeing, leave := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Present(seeing) }()
	counted := awaitPresent(ctx, c, 1)
	leave()
	return errors.Join(counted, <-ended, awaitPresent(ctx, c, 0))
}

// awaitPresent waits until the city counts n persons.
func awaitPresent(ctx context.Context, c *client.Client, n int) error {
	for delay := retry.New(time.Millisecond, 50*time.Millisecond); ; {
		list, err := c.Notifications(ctx)
		if err != nil || list.Present == n {
			return err
		}
		if !delay.Wait(ctx) {
			return fmt.Errorf("the city counts %d persons, want %d", list.Present, n)
		}
	}
}

func walkWeb(ctx context.Context, c *client.Client) error {
	_, startErr := c.StartWeb(ctx, client.WebRequest{})
	_, codeErr := c.NewWebCode(ctx, client.WebCodeRequest{})
	_, revokeErr := c.RevokeWebDevice(ctx, "d-none")
	if errors.Is(revokeErr, client.ErrNotFound) {
		revokeErr = nil
	}
	_, stopErr := c.StopWeb(ctx)
	return errors.Join(startErr, codeErr, revokeErr, stopErr)
}

func walkConfig(ctx context.Context, c *client.Client) error {
	file, err := c.ConfigFile(ctx)
	if err != nil {
		return err
	}
	edit := client.ConfigEdit{Text: file.Text, Hash: file.Hash}
	_, previewErr := c.PreviewConfig(ctx, edit)
	_, applyErr := c.ApplyConfig(ctx, edit)
	return errors.Join(previewErr, applyErr)
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

// walkDoctor examines a city without agents, because the fake agents do not answer the prompt of the doctor.
func walkDoctor(t *testing.T, check *describedTransport) {
	t.Helper()
	city := citytest.New(t, "[workspace]\n")
	c := &client.Client{Root: city.Root, Version: "test", Dial: check.dial(client.SocketPath(city.Root))}
	defer c.Close()
	out, err := c.Doctor(bounded(t))
	if err != nil || !slices.ContainsFunc(out.Findings, func(f client.Finding) bool { return f.Check == "config" && f.Level == client.LevelOK }) {
		t.Errorf("doctor: %+v, %v", out, err)
	}
	if err := readFile(c.Bundle(bounded(t))); err != nil {
		t.Errorf("bundle: %v", err)
	}
	city.Leave()
}

func readFile(body io.ReadCloser, err error) error {
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
	server *controlapi.Server
	proxy  string // URL of the proxy that validates; set by dial
	mu     sync.Mutex
	seen   map[string]bool
}

// get requests a path through the proxy.
func (d *describedTransport) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.proxy+path, nil)
	if err != nil {
		return err
	}
	req.Host = client.APIHost
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}

// dial returns a function that connects to the socket through a proxy, which checks the answers.
func (d *describedTransport) dial(socket string) func(context.Context) (net.Conn, error) {
	target := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	d.t.Cleanup(target.CloseIdleConnections)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.forward(target, w, r) }))
	d.t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	d.proxy = proxy.URL
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

// operation returns the description of the route of a request.
func (d *describedTransport) operation(r *http.Request) *huma.Operation {
	for path, item := range d.server.OpenAPI().Paths {
		if matched, err := pathpkg.Match(parameter.ReplaceAllString(path, "*"), r.URL.EscapedPath()); err != nil || !matched {
			continue
		}
		if op := map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		}[r.Method]; op != nil {
			return op
		}
	}
	d.t.Errorf("%s %s is not described", r.Method, r.URL.Path)
	return nil
}

// parameter matches a parameter in the path of a route.
var parameter = regexp.MustCompile(`\{\w+\}`)

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
	registry := d.server.OpenAPI().Components.Schemas
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

func TestNamesWithSlashesReachTheirTarget(t *testing.T) {
	c := newCity(t).Client
	got, err := c.Session(bounded(t), "dir/helper")
	if err != nil || got.Name != "dir/helper" {
		t.Errorf("session of dir/helper is %q, %v", got.Name, err)
	}
	if _, err := c.Session(bounded(t), "../x y?z"); !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), `"../x y?z"`) {
		t.Errorf("an odd name gave %v, want not found with the name in it", err)
	}
}

func TestOneMiBPromptsArrive(t *testing.T) {
	city := newCity(t)
	for _, text := range []string{strings.Repeat("\x01\"é€", 1<<20/8), strings.Repeat("\t\"é€", 1<<20/8)} {
		r, err := city.Client.Nudge(bounded(t), "worker", client.NudgeRequest{Text: text, Wait: client.ReceiptSubmitted})
		if err != nil || r.Bytes != len(text) {
			t.Errorf("a prompt of %d bytes is %+v, %v", len(text), r, err)
		}
		if got := delivered(city); len(got) == 0 || got[len(got)-1] != text {
			t.Error("the prompt did not arrive unchanged")
		}
	}
}

// TestRequestsForAnotherInstanceAreRefused checks that every request about a running session can name an instance and is refused
// if another one runs.
func TestRequestsForAnotherInstanceAreRefused(t *testing.T) {
	city := newCity(t)
	c, ctx := city.Client, bounded(t)
	copied := client.CopyRequest{Src: city.Root + "/city.toml", RelDst: "copied"}
	for _, verb := range []struct {
		name string
		do   func(instance string) error
	}{
		{"interrupt", func(i string) error {
			_, err := c.Interrupt(ctx, "worker", client.LifecycleRequest{Instance: i})
			return err
		}},
		{"keys", func(i string) error {
			_, err := c.Keys(ctx, "worker", client.KeysRequest{Keys: []string{"Enter"}, Instance: i})
			return err
		}},
		{"copy", func(i string) error { copied.Instance = i; _, err := c.Copy(ctx, "worker", copied); return err }},
		{"kill", func(i string) error {
			_, err := c.Kill(ctx, "worker", client.LifecycleRequest{Instance: i})
			return err
		}},
		{"restart", func(i string) error { _, err := c.RestartInstance(ctx, "worker", i); return err }},
	} {
		present := city.AwaitRunning("worker").Instance
		if err := verb.do("former"); !errors.Is(err, client.ErrRefused) {
			t.Errorf("%s of another instance answers %v, want %v", verb.name, err, client.ErrRefused)
		}
		if again := city.AwaitRunning("worker").Instance; again != present {
			t.Errorf("%s of another instance ended %s", verb.name, present)
		}
		if err := verb.do(present); err != nil {
			t.Errorf("%s of the present instance answers %v", verb.name, err)
		}
		city.AwaitRunning("worker")
		if err := verb.do(""); err != nil {
			t.Errorf("%s of any instance answers %v", verb.name, err)
		}
	}
}

// TestStopNeedsNoBody checks that the requests that stop something can be sent without a body.
func TestStopNeedsNoBody(t *testing.T) {
	city := newCity(t)
	h := rawClient(t, city.Root)
	for _, verb := range []string{"interrupt", "kill"} {
		if got := request(t, h, http.MethodPost, "/v1/sessions/worker/"+verb, map[string]string{client.VersionHeader: "test"}); got != http.StatusOK {
			t.Errorf("%s without a body answers %d, want 200", verb, got)
		}
	}
}

// TestNoPathIsRedirected sends paths such as //x and /x/.. and checks that each is answered with "not found". A redirect would
// make a client send a Referer.
func TestNoPathIsRedirected(t *testing.T) {
	city := newCity(t)
	c := city.Client
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
	city.AwaitRunning("dir/helper")
	if _, err := c.Peek(t.Context(), "dir/helper", 0); err != nil {
		t.Error(err)
	}
}

// TestAPromptArrivesByteForByteOrIsRefused sends prompts that the JSON decoder would change, such as half of a surrogate pair or
// bytes that are not UTF-8, and checks that each arrives unchanged or is refused.
func TestAPromptArrivesByteForByteOrIsRefused(t *testing.T) {
	city := newCity(t)
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
	city.Until("the delivery", func(context.Context) bool { return len(delivered(city)) > 0 })
	if got := delivered(city); len(got) != 1 || got[0] != "😀 ok" {
		t.Errorf("the agent got %q", got)
	}
}

func TestBrowsersAreRefused(t *testing.T) {
	city := newCity(t)
	h := rawClient(t, city.Root)
	tests := map[string]struct {
		method, path string
		header       map[string]string
		want         int
	}{
		"plain read":              {http.MethodGet, "/v1/status", nil, http.StatusOK},
		"localhost":               {http.MethodGet, "/v1/status", map[string]string{"Host": "localhost"}, http.StatusOK},
		"origin":                  {http.MethodGet, "/v1/status", map[string]string{"Origin": "http://city"}, http.StatusForbidden},
		"null origin":             {http.MethodGet, "/v1/status", map[string]string{"Origin": "null"}, http.StatusForbidden},
		"referer":                 {http.MethodGet, "/v1/status", map[string]string{"Referer": "http://x/"}, http.StatusForbidden},
		"rebound name":            {http.MethodGet, "/v1/status", map[string]string{"Host": "evil.example"}, http.StatusForbidden},
		"name with port":          {http.MethodGet, "/v1/status", map[string]string{"Host": "localhost:80"}, http.StatusForbidden},
		"write without version":   {http.MethodPost, "/v1/sessions/worker/interrupt", nil, http.StatusForbidden},
		"write with version":      {http.MethodPost, "/v1/sessions/worker/interrupt", map[string]string{client.VersionHeader: "x"}, http.StatusOK},
		"unknown path":            {http.MethodGet, "/v1/nothing", nil, http.StatusNotFound},
		"description":             {http.MethodGet, "/openapi.json", nil, http.StatusOK},
		"stream with a bad id":    {http.MethodGet, "/v1/events/stream", map[string]string{"Last-Event-ID": "x"}, http.StatusUnprocessableEntity},
		"number with a bad value": {http.MethodGet, "/v1/sessions/worker/peek?lines=many", nil, http.StatusUnprocessableEntity},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := request(t, h, test.method, test.path, test.header); got != test.want {
				t.Errorf("answered %d, want %d", got, test.want)
			}
		})
	}
}

func TestUnknownFieldsOfARequestAreRefused(t *testing.T) {
	city := newCity(t)
	h := rawClient(t, city.Root)
	req, err := http.NewRequestWithContext(bounded(t), http.MethodPost, "http://city/v1/sessions/worker/nudge", strings.NewReader(`{"text":"x","only_if":"y"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(client.VersionHeader, "x")
	res, err := h.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnprocessableEntity || len(delivered(city)) > 0 {
		t.Errorf("a nudge with an unknown condition answered %d and delivered %v", res.StatusCode, delivered(city))
	}
}

func rawClient(t *testing.T, root string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", client.SocketPath(root))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func request(t *testing.T, h *http.Client, method, path string, header map[string]string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(bounded(t), method, "http://city"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	res, err := h.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// TestInvalidRequestsAreRefusedAtOnce checks that requests that can never succeed are refused before the city gets them.
func TestInvalidRequestsAreRefusedAtOnce(t *testing.T) {
	city := newCity(t)
	c := city.Client
	ctx := bounded(t)
	nudge := func(req client.NudgeRequest) error { _, err := c.Nudge(ctx, "worker", req); return err }
	await := func(req client.WaitRequest) error { _, err := c.Await(ctx, req); return err }
	empty, negative, odd := "", -time.Second, "odd"
	edit := func(req client.EditRequest) error { _, err := c.EditPrompt(ctx, "p-0001", req); return err }
	for want, err := range map[string]error{
		"the prompt is empty":               nudge(client.NudgeRequest{}),
		"not valid UTF-8":                   nudge(client.NudgeRequest{Text: "a\xff"}),
		"the limit is 1048576":              nudge(client.NudgeRequest{Text: strings.Repeat("x", 1<<20+1)}),
		"no absolute path":                  nudge(client.NudgeRequest{Files: []string{"notes.md"}}),
		"ttl_ns is -1s":                     nudge(client.NudgeRequest{Text: "x", TTL: -time.Second}),
		"one of \"system, urgent, normal\"": nudge(client.NudgeRequest{Text: "x", Priority: "high"}),
		"at most 256 bytes":                 nudge(client.NudgeRequest{Text: "x", Key: strings.Repeat("k", 300)}),
		"submitted, consumed":               nudge(client.NudgeRequest{Text: "x", Wait: "queued"}),
		"the request changes nothing":       edit(client.EditRequest{}),
		"gc queue cancel p-0001":            edit(client.EditRequest{Text: &empty}),
		"ttl_ns is -1s, want":               edit(client.EditRequest{TTL: &negative}),
		"system, urgent, normal":            edit(client.EditRequest{Priority: &odd}),
		"either an option or a text": func() error {
			_, err := c.Respond(ctx, "q", client.RespondRequest{})
			return err
		}(),
		"needs an owner": func() error {
			_, err := c.AddWait(ctx, client.WaitRequest{Target: "worker", For: client.WaitIdle})
			return err
		}(),
		"\"happy\" is not a condition":   await(client.WaitRequest{Target: "worker", For: "happy"}),
		"a wait for idle needs a target": await(client.WaitRequest{For: client.WaitIdle}),
		"needs arg":                      await(client.WaitRequest{For: client.WaitReceipt}),
		"not an RFC 3339":                await(client.WaitRequest{For: client.WaitTime, Arg: "noon"}),
		"the reason has": func() error {
			_, err := c.Sleep(ctx, "worker", client.LifecycleRequest{Reason: strings.Repeat("r", 5000)})
			return err
		}(),
	} {
		if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an invalid request and %q", err, want)
		}
	}
	if got := delivered(city); len(got) > 0 {
		t.Errorf("something was delivered all the same: %q", got)
	}
}

// TestPromptWithWait checks that a request that waits for a prompt returns when the prompt has the state.
func TestPromptWithWait(t *testing.T) {
	c := newCity(t).Client
	got := make(chan client.Receipt, 1)
	go func() {
		r, err := c.Nudge(bounded(t), "deep", client.NudgeRequest{Text: "x", Wait: client.ReceiptSubmitted})
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	untilQueued(t, c, 1)
	if _, err := c.Interrupt(bounded(t), "deep", client.LifecycleRequest{}); err != nil {
		t.Error(err)
	}
	if r := <-got; r.State != client.ReceiptSubmitted || len(r.Steps) < 3 {
		t.Errorf("the receipt is %+v, want a submitted one with its steps", r)
	}
}

// untilQueued waits until n prompts are in the queue.
func untilQueued(t *testing.T, c *client.Client, n int) {
	t.Helper()
	ctx := bounded(t)
	for {
		list, err := c.Queue(ctx, "", client.OnlyOpen)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == n {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d prompts wait, want %d", len(list), n)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestWaitEndsAtItsTimeout checks that a wait ends at the timeout of its request.
func TestWaitEndsAtItsTimeout(t *testing.T) {
	c := newCity(t).Client
	_, err := c.Await(bounded(t), client.WaitRequest{Target: "worker", For: client.WaitStopped, Timeout: 20 * time.Millisecond})
	if !errors.Is(err, client.ErrTimeout) || !strings.Contains(err.Error(), "20ms") {
		t.Errorf("the wait ended with %v, want timed out after 20ms", err)
	}
	w, err := c.Await(bounded(t), client.WaitRequest{Target: "worker", For: client.WaitIdle, Timeout: time.Hour})
	if err != nil || w.State != client.WaitFulfilled {
		t.Errorf("an idle agent's wait is %q, %v", w.State, err)
	}
}

// TestTimeLimitOfRequestsDoesNotEndWaits checks that Patience, the client's time limit for ordinary requests, does not end a
// wait.
func TestTimeLimitOfRequestsDoesNotEndWaits(t *testing.T) {
	city := newCity(t)
	slow := city.Client
	r, err := slow.Nudge(bounded(t), "deep", client.NudgeRequest{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	c := &client.Client{Root: city.Root, Version: "test", Patience: 50 * time.Millisecond}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Receipt(ctx, r.ID, client.ReceiptSubmitted); !errors.Is(err, client.ErrTimeout) || ctx.Err() == nil {
		t.Errorf("the wait ended with %v before its own time", err)
	}
}
