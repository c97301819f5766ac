package workerapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"runtime/debug"
	"time"

	"gascity/internal/proc"
	"gascity/internal/redact"
	"gascity/internal/server/unixhttp"
	"gascity/worker"
)

const (
	heartbeat = 15 * time.Second
	maxStall  = 10 * time.Second // how long one write of a stream may wait for its reader
)

// Options are the options of a server. The zero value is valid.
type Options struct {
	// Log receives refused requests and errors, but no tokens and no bodies. Nil discards them.
	Log *slog.Logger
	// Heartbeat is how often a comment is sent on a stream without messages. Zero means 15 s.
	Heartbeat time.Duration
	// PeerUID returns the user and the process at the other end of a Unix connection. Nil means the
	// kernel's answer.
	PeerUID func(*net.UnixConn) (uid, pid int, err error)
	// LoopbackUID returns the user of a TCP connection with the given addresses. If it returns
	// errors.ErrUnsupported, only the token is checked. Nil means the kernel's answer.
	LoopbackUID func(local, remote netip.AddrPort) (uid int, err error)
	// Secrets masks secrets in answers, except in the stream and the context, which are for the
	// agent. Nil masks only the tokens of gc.
	Secrets *redact.Redactor
}

// Server serves the worker API of one city.
type Server struct {
	// The fields above mux do not change after NewServer.
	city      City
	log       *slog.Logger
	heartbeat time.Duration
	stall     time.Duration
	peerUID   func(*net.UnixConn) (uid, pid int, err error)
	owner     int
	secrets   *redact.Redactor

	loopbackUID func(local, remote netip.AddrPort) (uid int, err error)

	mux     *http.ServeMux
	streams streamSlots
}

// NewServer returns a server. It serves nothing until [Server.Run] is called.
func NewServer(city City, opts Options) *Server {
	s := &Server{
		city: city, log: opts.Log, heartbeat: opts.Heartbeat, stall: maxStall, peerUID: opts.PeerUID, owner: os.Getuid(), mux: http.NewServeMux(),
		loopbackUID: opts.LoopbackUID, secrets: opts.Secrets,
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
	if s.loopbackUID == nil {
		s.loopbackUID = proc.LoopbackUID
	}
	for _, row := range routes() {
		s.mux.HandleFunc(row.method+" "+row.path, s.guarded(row))
	}
	s.mux.HandleFunc("GET /openapi.json", s.describe)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, noSuchPath(r))
	})
	return s
}

// Run serves on l, a Unix or a loopback TCP listener, until ctx ends. Then it waits up to 5 s for
// handlers, and returns nil when all have finished. It closes l. It may be called for several
// listeners at once.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	return unixhttp.Service{Name: "worker socket", Handler: s.handler(l.Addr()), Log: s.log, Connect: s.recordPeer}.Run(ctx, l)
}

// noSuchPath returns the error for an unknown path.
func noSuchPath(r *http.Request) error {
	return fmt.Errorf("%w: there is no path %s %.200q, see /openapi.json", worker.ErrNotFound, r.Method, r.URL.Path)
}

// Values of answer headers. They must not be changed.
var (
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
	isOfJSON = []string{jsonType}
)

// handler returns the routes with the checks of a transport.
func (s *Server) handler(addr net.Addr) http.Handler {
	admit := s.admitUnix
	if tcp, ok := addr.(*net.TCPAddr); ok {
		admit = s.admitLoopback(tcp)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Cache-Control"], h["X-Content-Type-Options"] = noStore, noSniff
		defer s.recover(w, r)
		if r.Header.Get("Expect") != "" { // net/http answers this header before the handler writes, so the deadline is set here
			if err := deadline(w); err != nil {
				s.log.Debug("a connection of the worker API is closed", "error", err)
				return
			}
		}
		if err := admit(r); err != nil {
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
	s.log.Error("a handler of the worker API panicked", "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	if deadline(w) == nil { // on an error the connection is gone
		s.writeProblem(w, worker.ProblemOf(errDefect))
	}
}

var errDefect = errors.New("the city has a defect")

// refuse answers with the problem document of err and logs it.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := worker.ProblemOf(err)
	attrs := []any{"method", r.Method, "path", r.URL.Path, "code", p.Code, "error", err}
	if who, ok := unixhttp.PeerOf(r.Context()); ok && who.Err == nil {
		attrs = append(attrs, "uid", who.UID, "pid", who.PID)
	}
	s.log.Warn("a request of the worker API was refused", attrs...)
	if err := deadline(w); err != nil {
		return // the connection is gone
	}
	s.writeProblem(w, p)
}
