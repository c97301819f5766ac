package controlapi

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"gascity/client"
	"gascity/internal/proc"
	"gascity/internal/redact"
	"gascity/internal/server/unixhttp"
)

// Options are the options of a server. The zero value is valid.
type Options struct {
	// Version is sent with each answer. Empty means "unknown".
	Version string
	// Log receives refused requests and errors. Nil discards them.
	Log *slog.Logger
	// Heartbeat is how often a comment is sent on an event stream without events. Zero means 15 s.
	Heartbeat time.Duration
	// PeerUID returns the user and the process at the other end of a connection. Nil means the
	// kernel's answer.
	PeerUID func(*net.UnixConn) (uid, pid int, err error)
	// Secrets masks secrets in every answer. Nil masks only the tokens of gc.
	Secrets *redact.Redactor
}

// Server serves the control API of one city.
type Server struct {
	// The fields do not change after NewServer.
	city      City
	version   string
	log       *slog.Logger
	heartbeat time.Duration
	stall     time.Duration // how long one write of a stream may wait for its reader
	peerUID   func(*net.UnixConn) (uid, pid int, err error)
	owner     int
	secrets   *redact.Redactor
	api       huma.API
	mux       *http.ServeMux
	routes    *guardedMux
}

// NewServer returns a server. It serves nothing until [Server.Run] is called.
func NewServer(city City, opts Options) *Server {
	s := &Server{
		city: city, version: opts.Version, log: opts.Log, heartbeat: opts.Heartbeat, stall: maxStall,
		peerUID: opts.PeerUID, owner: os.Getuid(), secrets: opts.Secrets, mux: http.NewServeMux(),
	}
	if s.version == "" {
		s.version = "unknown"
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.heartbeat <= 0 {
		s.heartbeat = heartbeat
	}
	if s.peerUID == nil {
		s.peerUID = proc.PeerUID
	}
	s.routes = &guardedMux{server: s, rows: map[string]route{}}
	s.api = humago.New(s.routes, describe(s.secrets))
	for _, row := range routes() {
		s.add(row)
	}
	removeHumaErrors(s.api)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, noSuchPath(r))
	})
	return s
}

// Run serves on l until ctx ends, then waits up to 5 s for handlers, and returns nil when all have
// finished. It closes l.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	return unixhttp.Service{Name: "control socket", Handler: s.Handler(), Log: s.log, Connect: s.connContext}.Run(ctx, l)
}

// Handler returns the routes with their checks. It refuses requests whose connection was not
// accepted by [Server.Run].
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(client.VersionHeader, s.version)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		defer s.recover(w, r)
		if err := s.admit(r); err != nil {
			s.refuse(w, r, err)
			return
		}
		if r.URL.Path != path.Clean(r.URL.Path) { // the mux would answer with a redirect
			s.refuse(w, r, noSuchPath(r))
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

// noSuchPath returns the error for an unknown path.
func noSuchPath(r *http.Request) error {
	return fmt.Errorf("%w: there is no path %s %.200q, see /openapi.json", client.ErrNotFound, r.Method, r.URL.Path)
}

// recover answers a request whose handler panicked with a problem document, so that one bad request
// does not stop the controller.
func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
		panic(cause)
	}
	s.log.Error("a handler panicked", "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	s.writeProblem(w, client.ProblemOf(fmt.Errorf("the controller has a defect in %s %s, its log has the details: %v", r.Method, r.URL.Path, cause)))
}

// refuse answers with the problem document of err and logs it.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	s.log.Warn("a request was refused", "method", r.Method, "path", r.URL.Path, "error", err)
	s.writeProblem(w, client.ProblemOf(err))
}

// add registers one route.
func (s *Server) add(row route) {
	s.routes.rows[row.method+" "+row.path] = row
	op := huma.Operation{
		OperationID:  row.id,
		Method:       row.method,
		Path:         row.path,
		Summary:      row.summary,
		MaxBodyBytes: row.body,
		Responses:    maps.Clone(problems(s.api)),
	}
	row.serve(s, op, row)
}
