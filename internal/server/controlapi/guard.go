package controlapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"gascity/client"
	"gascity/internal/server/unixhttp"
)

// connContext returns the context of a connection with its peer.
func (s *Server) connContext(ctx context.Context, conn net.Conn) context.Context {
	return unixhttp.RecordPeer(ctx, conn, s.peerUID)
}

// admit returns client.ErrForbidden for a request of another user or of a browser. A web page can
// make a browser send requests to local addresses, but then the request has an Origin or Referer
// header, or another Host.
func (s *Server) admit(r *http.Request) error {
	who, met := unixhttp.PeerOf(r.Context())
	switch {
	case !met:
		return fmt.Errorf("%w: unknown connection", client.ErrForbidden)
	case who.Err != nil:
		return fmt.Errorf("%w: cannot identify the peer: %w", client.ErrForbidden, who.Err)
	case who.UID != s.owner && who.UID != 0:
		return fmt.Errorf("%w: user %d (process %d) is not this controller's owner", client.ErrForbidden, who.UID, who.PID)
	case r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "":
		return fmt.Errorf("%w: the request comes from a web page", client.ErrForbidden)
	case r.Host != client.APIHost && r.Host != "localhost":
		return fmt.Errorf("%w: host %q is not this controller", client.ErrForbidden, r.Host)
	}
	return nil
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
	m.server.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if row.access == writes && r.Header.Get(client.VersionHeader) == "" {
			m.server.refuse(w, r, fmt.Errorf("%w: the header %s is missing", client.ErrForbidden, client.VersionHeader))
			return
		}
		if row.limit > 0 { // a stream sets a deadline for each write
			end := time.Now().Add(row.limit + maxStall)
			if err := http.NewResponseController(w).SetWriteDeadline(end); err != nil && !errors.Is(err, http.ErrNotSupported) {
				m.server.refuse(w, r, fmt.Errorf("cannot bound the answer: %w", err))
				return
			}
		}
		h(w, r)
	})
}

// ServeHTTP implements http.Handler.
func (m *guardedMux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.server.mux.ServeHTTP(w, r) }
