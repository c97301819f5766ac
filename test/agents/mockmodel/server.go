package mockmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Dialect is an interface that a model is asked by.
type Dialect string

// The dialects.
const (
	Messages  Dialect = "messages"  // Anthropic, with count_tokens
	Responses Dialect = "responses" // OpenAI
	Chat      Dialect = "chat"      // OpenAI
	Gemini    Dialect = "gemini"
	Unknown   Dialect = "" // no request for a model: answered with 404
)

// Server is the mock. All methods may be called concurrently.
type Server struct {
	http   *http.Server
	origin string
	served chan struct{} // closed when the listener is done

	mu       sync.Mutex
	requests []*Request        // guarded by mu
	texts    map[string]string // guarded by mu; what users have said, so that equal texts are one
	faults   []Fault           // guarded by mu
	changed  chan struct{}     // guarded by mu; closed at the next change
}

// Start serves on a free port of 127.0.0.1 until [Server.Close].
func Start() (*Server, error) { return Listen("127.0.0.1:0") }

// Listen is [Start] on the given address, which must be a loopback one.
func Listen(address string) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("%s is not a loopback address", address), listener.Close())
	}
	s := &Server{origin: "http://" + listener.Addr().String(), served: make(chan struct{}), texts: map[string]string{}, changed: make(chan struct{})}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // it ends with Close and has no other result
	}()
	return s, nil
}

// Close ends the server and every answer under way.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	return err
}

// URL returns the base URL for a caller, without a slash at the end; an empty name
// is the server's own. What is to be appended ("/v1") is the caller's matter.
func (s *Server) URL(caller string) string {
	if caller == "" {
		return s.origin
	}
	return s.origin + "/" + caller
}

// Fault makes requests fail.
type Fault struct {
	Caller     string `json:"caller"`      // empty: the next caller
	Count      int    `json:"count"`       // so many requests; negative: for ever
	Status     int    `json:"status"`      // 429, 500, 529 ...; 0: the connection is closed without an answer
	RetryAfter string `json:"retry_after"` // the header's value; empty: none
	Header     map[string]string
	Message    string `json:"message"`
}

// Fail adds a fault. Faults are used up one after the other.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// fault removes and returns the fault for a request of the caller; nil if there is none.
func (s *Server) fault(caller string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.faults {
		f := &s.faults[i]
		if f.Count == 0 || f.Caller != "" && f.Caller != caller {
			continue
		}
		if f.Count > 0 {
			f.Count--
		}
		met := *f
		return &met
	}
	return nil
}

// ServeHTTP implements http.Handler. Beside the models there are POST /ctl with a
// [Fault], DELETE /ctl, GET /log and GET /prompts.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "POST /ctl":
		var f Fault
		if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.Fail(f)
	case "DELETE /ctl":
		s.ClearFaults()
	case "GET /log":
		respond(w, http.StatusOK, s.Requests())
	case "GET /prompts":
		respond(w, http.StatusOK, s.Prompts(r.URL.Query().Get("caller")))
	default:
		s.model(w, r)
	}
}

// model answers a request for a model.
func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller went away in the middle of its request
	}
	way, caller := route(r.URL.Path)
	request := s.record(&Request{Caller: caller, Dialect: way.dialect, Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body, At: time.Now()})
	status, usage, aborted := s.answer(w, r, request, way)
	s.change(func() {
		request.Status, request.Usage, request.Aborted, request.Ended = status, usage, aborted, time.Now()
	})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, request *Request, way endpoint) (status int, usage Usage, aborted bool) {
	switch {
	case way.dialect == Unknown && (r.Method == http.MethodHead || r.Method == http.MethodGet) && request.Path == "/":
		return http.StatusOK, Usage{}, false
	case way.dialect == Unknown || r.Method != http.MethodPost:
		return respond(w, http.StatusNotFound, map[string]any{"error": map[string]string{"type": "not_found_error", "message": "nothing is here"}}), Usage{}, false
	}
	talk, err := way.parse(request.Body)
	if err != nil {
		return respond(w, http.StatusBadRequest, map[string]any{"error": map[string]string{"type": "invalid_request_error", "message": err.Error()}}), Usage{}, false
	}
	if way.dialect == Gemini {
		talk.model, talk.stream = modelOf(request.Path), strings.Contains(request.Path, ":stream")
	}
	s.change(func() { s.describeLocked(request, talk, r.Header) })
	if way.count {
		return respond(w, http.StatusOK, map[string]int{"input_tokens": tokens(len(request.Body)), "totalTokens": tokens(len(request.Body))}), Usage{}, false
	}
	if f := s.fault(request.Caller); f != nil {
		return f.send(w, way.dialect), Usage{}, false
	}
	said := plan(talk, request)
	s.change(func() { request.Answer, request.Calls = said.text, said.calls })
	if !sleep(r.Context(), said.delay) {
		return http.StatusOK, Usage{}, true
	}
	out := &stream{gone: r.Context(), to: w, sse: talk.stream}
	way.write(out, talk, said)
	s.change(func() { request.Response = out.response })
	if out.broken {
		return http.StatusOK, out.told, true
	}
	return http.StatusOK, said.usage, false
}

// send answers with the fault in the words of the dialect.
func (f Fault) send(w http.ResponseWriter, d Dialect) int {
	if f.Status == 0 {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close() // that is the fault
		}
		return 0
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	kind := map[int]string{429: "rate_limit_error", 529: "overloaded_error", 401: "authentication_error", 400: "invalid_request_error", 403: "permission_error", 404: "not_found_error"}[f.Status]
	if kind == "" {
		kind = "api_error"
	}
	message := f.Message
	if message == "" {
		message = "the mock has orders to fail"
	}
	detail := map[string]any{"type": kind, "message": message}
	if d == Gemini {
		detail = map[string]any{"code": f.Status, "status": strings.ToUpper(kind), "message": message}
	}
	return respond(w, f.Status, map[string]any{"type": "error", "error": detail})
}

// respond sends a JSON document and returns its status.
func respond(w http.ResponseWriter, status int, v any) int {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that went away is seen by its context
	return status
}

// sleep waits and reports whether the caller is still there.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
