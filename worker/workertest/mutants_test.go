package workertest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/worker"
	"gascity/worker/workertest"
)

// brokenCity is a city that breaks one promise: what stands between it and its worker
// changes what the city says.
type brokenCity struct {
	promise string
	// refuses says that a request is answered with a problem in the place of the city.
	refuses func(path string, body []byte) bool
	// answers changes an answer.
	answers func(path string, body []byte) []byte
	// sends changes a message of the stream; nil leaves it out.
	sends func(m worker.Message) *worker.Message
}

// mutants returns those of the promises that the small city of the tests keeps.
func mutants() map[string]brokenCity {
	return map[string]brokenCity{
		"it refuses events of later versions": {promise: "newer", refuses: func(path string, body []byte) bool {
			return path == "/lifecycle" && bytes.Contains(body, []byte("unknown"))
		}},
		"it refuses telemetry of later versions": {promise: "newer", refuses: func(_ string, body []byte) bool { return bytes.Contains(body, []byte("unknown")) }},
		"it allows the canary": {promise: "canary", answers: func(path string, body []byte) []byte {
			if path == "/authorize" {
				return []byte(`{"allowed":true,"effect":"allow"}`)
			}
			return body
		}},
		"it denies the canary like anything else": {promise: "canary", answers: func(path string, body []byte) []byte {
			if path == "/authorize" {
				return []byte(`{"allowed":false,"effect":"deny","reason":"no"}`)
			}
			return body
		}},
		"it changes what it sends": {promise: "prompt", sends: func(m worker.Message) *worker.Message {
			m.Data = json.RawMessage(strings.ReplaceAll(string(m.Data), "ü", "u"))
			return &m
		}},
		"its messages have no ids":               {promise: "prompt", sends: func(m worker.Message) *worker.Message { m.ID = ""; return &m }},
		"it sends at most once":                  {promise: "again", sends: once()},
		"it sends a message again with a new id": {promise: "again", sends: renamed()},
		"it sends acknowledged messages again":   {promise: "again", sends: remembering()},
		"its numbers go down":                    {promise: "order", sends: func(m worker.Message) *worker.Message { m.Seq = 1000 - m.Seq; return &m }},
		"all messages have the same number":      {promise: "order", sends: func(m worker.Message) *worker.Message { m.Seq = 7; return &m }},
		"its messages have no numbers":           {promise: "order", sends: func(m worker.Message) *worker.Message { m.Seq = 0; return &m }},
	}
}

// once leaves out what was sent before.
func once() func(worker.Message) *worker.Message {
	sent := map[string]bool{}
	return func(m worker.Message) *worker.Message {
		if sent[m.ID] {
			return nil
		}
		sent[m.ID] = true
		return &m
	}
}

// renamed changes the name of what is sent again.
func renamed() func(worker.Message) *worker.Message {
	sent := map[string]int{}
	return func(m worker.Message) *worker.Message {
		sent[m.ID]++
		m.ID += strings.Repeat("+", sent[m.ID]-1)
		return &m
	}
}

// remembering sends the first prompt in the place of the second.
func remembering() func(worker.Message) *worker.Message {
	var first *worker.Message
	return func(m worker.Message) *worker.Message {
		if m.Kind != worker.PromptMessage {
			return &m
		}
		if first == nil {
			first = &m
		}
		return first
	}
}

// TestEveryBrokenPromiseOfACityIsFound: each mutant fails the promise that it breaks.
func TestEveryBrokenPromiseOfACityIsFound(t *testing.T) {
	t.Parallel()
	for name, m := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(m brokenCity, patience time.Duration) error {
				results := workertest.CheckServer(t.Context(), m.server(t, patience))
				if len(results) != 1 || results[0].ID != m.promise {
					t.Fatalf("tried %+v", results)
				}
				return results[0].Err
			}
			if err := check(brokenCity{promise: m.promise}, 30*time.Second); err != nil {
				t.Errorf("a city that follows the rules fails %s: %v", m.promise, err)
			}
			err := check(m, 3*time.Second)
			if err == nil {
				t.Errorf("%s is kept", m.promise)
			}
			t.Log(err)
		})
	}
}

// server returns a mutant of the small city, as it is checked.
func (m brokenCity) server(t *testing.T, patience time.Duration) workertest.Server {
	t.Helper()
	city, err := workertest.NewCity()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, line := range city.Env() {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	socket, closes := m.between(t, env["GC_WORKER_SOCKET"])
	t.Cleanup(func() {
		if err := errors.Join(closes(), city.Close()); err != nil {
			t.Error(err)
		}
	})
	n := 0
	return workertest.Server{
		Socket: socket, Patience: patience, Only: []string{m.promise},
		Begin: func(context.Context, string) (workertest.Run, error) {
			return workertest.Run{ID: env["GC_RUN_ID"], Token: env["GC_WORKER_TOKEN"]}, nil
		},
		Prompt: func(_ context.Context, _, content string) error { n++; return city.Prompt(fmt.Sprint("p", n), content) },
		End:    func(context.Context, string) error { return errors.New("its run never ends") },
	}
}

// between returns a socket whose requests go to another one, and are changed on their way.
func (m brokenCity) between(t *testing.T, to string) (socket string, closes func() error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcm") //nolint:usetesting // a socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	beyond := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", to)
	}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "city"})
	proxy.Transport, proxy.FlushInterval, proxy.ModifyResponse = beyond, -1, m.change
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || m.refuses != nil && m.refuses(r.URL.Path, body) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":"invalid","status":400}`) // its reader may have gone
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(l) }) // until it is closed
	return socket, func() error {
		err := server.Close()
		served.Wait()
		beyond.CloseIdleConnections()
		return errors.Join(err, os.RemoveAll(dir))
	}
}

// change changes an answer, or what a stream sends.
func (m brokenCity) change(res *http.Response) error {
	if res.Header.Get("Content-Type") == "text/event-stream" {
		if m.sends != nil {
			res.Body = m.stream(res.Body)
		}
		return nil
	}
	if m.answers == nil {
		return nil
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	body = m.answers(res.Request.URL.Path, body)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return nil
}

// stream changes the messages of a stream. Each has its data on one line.
func (m brokenCity) stream(from io.ReadCloser) io.ReadCloser {
	out, in := io.Pipe()
	go func() { // it ends with the stream
		lines := bufio.NewReader(from)
		for {
			line, err := lines.ReadString('\n')
			var sent worker.Message
			if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &sent) == nil && sent.Kind != "" {
				line = "event:\n" // none
				if changed := m.sends(sent); changed != nil {
					text, fault := json.Marshal(changed)
					line, err = "data: "+string(text)+"\n", errors.Join(err, fault)
				}
			}
			if _, fault := io.WriteString(in, line); fault != nil || err != nil {
				in.CloseWithError(errors.Join(err, fault))
				return
			}
		}
	}()
	return struct {
		io.Reader
		io.Closer
	}{out, from}
}
