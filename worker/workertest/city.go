package workertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/worker"
)

// Word is one request of a worker.
type Word struct {
	Path string // "/lifecycle", "/ack", "/authorize", "/stream", ...
	Body map[string]any
}

// text returns a member of the body, or "" if it is not a text.
func (w Word) text(name string) string {
	s, _ := w.Body[name].(string) // a value of another type is not a text
	return s
}

// String returns a short form of the request: the path and the values that distinguish it.
func (w Word) String() string {
	parts := []string{w.Path}
	for _, name := range []string{"event", "id", "state", "tool", "question", "after"} {
		if s := w.text(name); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " ")
}

// City is a simulated city with one run. Its methods are safe for concurrent use.
type City struct {
	// Decide answers an authorization; nil denies. Set it before the first request.
	Decide func(worker.Call) worker.Decision

	dir, path, run string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced by each change
	server  *http.Server
	served  chan struct{} // closed when the server has stopped
	words   []Word
	seq     uint64
	open    []queuedItem  // messages without an acknowledgment
	cut     chan struct{} // closed to end the open stream
	over    bool
	keys    keys
	faults  map[string]Fault // faults of authorizations and reports, by path
	newer   bool
	allows  bool
}

// NewCity starts a simulated city: it serves the worker API on a socket in a temporary directory. The caller must close it.
func NewCity() (*City, error) {
	dir, err := os.MkdirTemp("", "gcw")
	if err != nil {
		return nil, err
	}
	c := &City{dir: dir, path: filepath.Join(dir, "w.sock"), run: "run-1", keys: keys{now: "token-1"}, faults: map[string]Fault{}, changed: make(chan struct{}), cut: make(chan struct{})}
	if err := c.Up(context.Background()); err != nil { //nolint:forbidigo // listening takes no time
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

// Env returns the environment variables that the worker needs.
func (c *City) Env() []string {
	return []string{"GC_WORKER_SOCKET=" + c.path, "GC_WORKER_TOKEN=" + c.token(), "GC_RUN_ID=" + c.run}
}

// Client returns a client of the city's run.
func (c *City) Client() *worker.Client {
	return &worker.Client{Socket: c.path, Token: c.token(), RunID: c.run}
}

// Up makes the simulated city answer requests, at its start and again after Down.
func (c *City) Up(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", c.path)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: c.mux(), ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	c.mu.Lock()
	c.server, c.served = server, served
	c.mu.Unlock()
	go func() { // Down waits for it
		defer close(served)
		_ = server.Serve(l) // until Down, which closes the listener too
	}()
	return nil
}

// Down closes the city with all its connections, until [City.Up].
func (c *City) Down() error {
	c.mu.Lock()
	server, served := c.server, c.served
	c.mu.Unlock()
	err := server.Close()
	<-served
	return err
}

// Close stops the city and removes its directory.
func (c *City) Close() error { return errors.Join(c.Down(), os.RemoveAll(c.dir)) }

// Send sends a message to the worker. It repeats the message on each new connection until the
// worker acknowledges it.
func (c *City) Send(id string, kind worker.MessageKind, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	c.open = append(c.open, queuedItem{Message: worker.Message{Seq: c.seq, ID: id, Kind: kind, At: time.Now(), Data: text}})
	c.changeLocked()
	return nil
}

// Prompt sends a prompt.
func (c *City) Prompt(id, content string) error {
	return c.Send(id, worker.PromptMessage, worker.Prompt{RunID: c.run, Content: content, Priority: worker.Normal})
}

// Cut breaks the worker's stream.
func (c *City) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.cut)
	c.cut = make(chan struct{})
}

// End ends the run.
func (c *City) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.changeLocked()
}

// Words returns the requests of the worker so far.
func (c *City) Words() []Word {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Word(nil), c.words...)
}

// Await waits until the function matches returns true for the worker's requests so far. If ctx ends
// first, the error lists the requests.
func (c *City) Await(ctx context.Context, matches func([]Word) bool) error {
	for {
		c.mu.Lock()
		words, changed := append([]Word(nil), c.words...), c.changed
		c.mu.Unlock()
		if matches(words) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w; requests of the worker: %v", context.Cause(ctx), words)
		}
	}
}

// changeLocked wakes all goroutines that wait for a change of the city.
func (c *City) changeLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// recordWord appends a request of the worker to the record. An acknowledgment removes its message from
// the queue.
func (c *City) recordWord(w Word) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words = append(c.words, w)
	id := ""
	switch w.Path {
	case "/ack":
		id = w.text("id")
		c.keys.acknowledged(id, worker.Progress(w.text("state")))
	case "/health":
		id = w.text("question")
	}
	if id != "" {
		c.open = slices.DeleteFunc(slices.Clone(c.open), func(l queuedItem) bool { return l.ID == id })
	}
	c.changeLocked()
}

// mux returns the handler of the simulated city.
func (c *City) mux() http.Handler {
	mux := http.NewServeMux()
	answers := map[string]any{
		"/lifecycle": worker.LifecycleAnswer{Accepted: true}, "/telemetry": worker.TelemetryAnswer{}, "/interaction": worker.InteractionAnswer{ID: "question"},
		"/health": nil, "/ack": nil,
	}
	for path, answer := range answers {
		mux.HandleFunc("POST "+path, c.report(func(http.ResponseWriter, []byte) any { return answer }))
	}
	mux.HandleFunc("POST /authorize", c.report(func(_ http.ResponseWriter, body []byte) any {
		var call worker.Call
		err := json.Unmarshal(body, &call)
		c.mu.Lock()
		allows := c.allows
		c.mu.Unlock()
		switch {
		case err == nil && call.Tool == worker.Canary:
			return worker.Decision{Effect: worker.Deny, Rule: worker.Canary, Reason: "the guard works"}
		case err == nil && allows:
			return worker.Decision{Allowed: true, Effect: worker.Allow}
		case err != nil, c.Decide == nil:
			return worker.Decision{Effect: worker.Deny, Reason: "the simulated city allows nothing"}
		}
		return c.Decide(call)
	}))
	mux.HandleFunc("GET "+streamPath, c.stream)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.recordWord(Word{Path: invalid + r.Method + " " + r.URL.Path})
		problem(w, worker.ErrNotFound)
	})
	return mux
}

// refused answers a request without the run's token, or after the end of the run. It reports
// whether it has answered.
func (c *City) refused(w http.ResponseWriter, r *http.Request) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	c.mu.Lock()
	over, known := c.over, c.keys.accepts(token)
	c.mu.Unlock()
	err := error(nil)
	switch {
	case !known:
		c.recordWord(Word{Path: wrongToken + r.URL.Path})
		err = worker.ErrUnauthorized
	case over && r.URL.Path == streamPath:
		err = worker.ErrFenced
	default:
		return false
	}
	problem(w, err)
	return true
}

func problem(w http.ResponseWriter, err error) {
	p := worker.ProblemOf(err)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the worker may have closed the connection
}

// Prefixes of the path in the record of a request that breaks a rule.
const (
	wrongToken = "wrong token "
	invalid    = "invalid "
	streamPath = "/stream"
)

// report returns the handler of a POST request of a worker. The handler checks and records the
// request; then it applies the fault that the test has set, or sends the answer, with unknown members
// if the city imitates a newer one.
func (c *City) report(answer func(http.ResponseWriter, []byte) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c.refused(w, r) {
			return
		}
		var raw json.RawMessage
		word := Word{Path: r.URL.Path, Body: map[string]any{}}
		if json.NewDecoder(r.Body).Decode(&raw) != nil || json.Unmarshal(raw, &word.Body) != nil || r.Header.Get("Content-Type") != "application/json" {
			c.recordWord(Word{Path: invalid + r.URL.Path})
			http.Error(w, "no JSON", http.StatusUnprocessableEntity)
			return
		}
		c.mu.Lock()
		fault, newer := c.faults[r.URL.Path], c.newer
		c.mu.Unlock()
		c.recordWord(word)
		if fault != nil {
			fault(w)
			return
		}
		out := answer(w, raw)
		if out == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		text, _ := json.Marshal(out) // every value can be encoded
		if newer {
			text = withMembers(text)
		}
		_, _ = w.Write(text) // the worker may have closed the connection
	}
}
