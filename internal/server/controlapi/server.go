package controlapi

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"gascity/client"
	"gascity/internal/httpwire"
	"gascity/internal/server/httpkit"
)

// Options are the options of a server. The zero value is valid.
type Options = httpkit.Options

// errEnding is the error of a wait that ends because the controller stops.
var errEnding = fmt.Errorf("%w: the controller is stopping; ask the next controller again", client.ErrUnavailable)

// Server serves the control API of one city.
type Server struct {
	// The fields do not change after NewServer.
	*httpkit.API
	city   City
	huma   huma.API
	mux    *http.ServeMux
	routes *guardedMux
	mounts []Mounted
}

// NewServer returns a server. It serves nothing until [Server.Run] is called.
func NewServer(city City, opts Options) *Server {
	s := &Server{city: city, mux: http.NewServeMux(), API: httpkit.New(httpkit.API{
		Options: opts, Name: "control socket", Service: "controller",
		Problem:   func(err error) httpwire.Problem { return httpwire.Problem(*client.ProblemOf(err)) },
		Forbidden: client.ErrForbidden, NotFound: client.ErrNotFound, Ending: errEnding,
	})}
	s.routes = &guardedMux{server: s, rows: map[string]route{}}
	s.huma = humago.New(s.routes, describe(s.Secrets))
	for _, row := range routes() {
		s.add(row)
	}
	removeHumaErrors(s.huma)
	s.mux.HandleFunc("/", s.RefusePath)
	return s
}

// Run serves on l until ctx ends, then waits up to 5 s for handlers, and returns nil when all have
// finished. It closes l.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	checked := s.Handler(s.mux, s.FromOwner, s.NotFromPage, s.ForHost(client.APIHost, "localhost"))
	return s.API.Run(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(client.VersionHeader, s.Version)
		checked.ServeHTTP(w, r)
	}))
}

// add registers one route with its handler and its part of the API description.
func (s *Server) add(row route) {
	s.routes.rows[row.method+" "+row.path] = row
	op := huma.Operation{
		OperationID:  row.id,
		Method:       row.method,
		Path:         row.path,
		Summary:      row.summary,
		MaxBodyBytes: row.body,
		Responses:    maps.Clone(problems(s.huma)),
	}
	row.serve(s, op, row)
}

// guardedMux is an http.ServeMux that checks the access of each route.
type guardedMux struct {
	server *Server
	rows   map[string]route // by pattern
}

// HandleFunc registers a handler. A pattern that is not in the route table belongs to the API
// description and needs no version header.
func (m *guardedMux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	row := m.rows[pattern]
	bounded := func(w http.ResponseWriter, r *http.Request) {
		if row.limit > 0 { // a stream has no limit: it sets a deadline for each write itself
			if err := httpkit.SetDeadline(w, row.limit+httpwire.MaxStall); err != nil {
				m.server.Refuse(w, r, fmt.Errorf("cannot set the time limit of the response: %w", err))
				return
			}
		}
		h(w, r)
	}
	m.server.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if row.access == writes && r.Header.Get(client.VersionHeader) == "" {
			m.server.Refuse(w, r, fmt.Errorf("%w: the header %s is missing", client.ErrForbidden, client.VersionHeader))
			return
		}
		bounded(w, r)
	})
	if row.scope != socketOnly {
		m.server.mounts = append(m.server.mounts, Mounted{
			ID: row.id, Method: row.method, Path: row.path, Scope: row.scope, MaxBody: row.body,
			Changes: row.access == writes && row.scope != client.ScopeSee, Handler: http.HandlerFunc(bounded),
		})
	}
}

// Mounted is a route for another listener, with the handler of the control socket.
type Mounted struct {
	ID, Method, Path string
	Scope            client.Scope // a caller needs it
	MaxBody          int64        // limit of the request body in bytes; zero: the route has none
	Changes          bool         // the route changes something
	Handler          http.Handler // it checks nothing about the caller
}

// Mount returns the routes that another listener, such as the web console, may serve. That listener
// must check the caller of each request, its scope and the size of its body, and must serve by
// [httpkit.Service]. Path values have the names of the pattern.
func (s *Server) Mount() []Mounted { return slices.Clone(s.mounts) }

// ServeHTTP passes a request to the handler of its route. It implements http.Handler.
func (m *guardedMux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.server.mux.ServeHTTP(w, r) }
