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

// Options are the options of a server. The zero value works.
type Options struct {
	// Version is sent with each answer. Empty means "unknown".
	Version string
	// Log takes what the server refuses and what goes wrong. Nil discards.
	Log *slog.Logger
	// Heartbeat is how often a silent event stream shows that it lives; zero is
	// 15 s.
	Heartbeat time.Duration
	// PeerUID returns the user at the other end of a connection. Nil asks the
	// kernel.
	PeerUID func(*net.UnixConn) (uid, pid int, err error)
	// Secrets masks every answer. Nil masks the tokens of gc alone.
	Secrets *redact.Redactor
}

// Server serves the control API of one city.
type Server struct {
	// constant after construction
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

// NewServer makes a server. It serves nothing before [Server.Run].
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
	forgetForeignErrors(s.api)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, noSuchPath(r))
	})
	return s
}

// Run serves on l until ctx ends, then lets handlers finish for 5 s, and returns
// nil when all have. It closes l.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	return unixhttp.Service{Name: "control socket", Handler: s.Handler(), Log: s.log, Connect: s.connContext}.Run(ctx, l)
}

// Handler returns the routes behind their checks. A request's connection has to
// be known to [Server.Run]; elsewhere every request is refused.
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
		if r.URL.Path != path.Clean(r.URL.Path) { // the mux would redirect its sender
			s.refuse(w, r, noSuchPath(r))
			return
		}
		s.mux.ServeHTTP(w, r)
	})
}

func noSuchPath(r *http.Request) error {
	return fmt.Errorf("%w: no such path as %s %.200q, see /openapi.json", client.ErrNotFound, r.Method, r.URL.Path)
}

// recover turns a handler's panic into a problem: one bad request must not end
// the controller.
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

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	s.log.Warn("a request was refused", "method", r.Method, "path", r.URL.Path, "error", err)
	s.writeProblem(w, client.ProblemOf(err))
}

// add registers one row of the table.
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
