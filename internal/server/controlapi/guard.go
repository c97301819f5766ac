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

// connContext asks the kernel who has connected.
func (s *Server) connContext(ctx context.Context, conn net.Conn) context.Context {
	return unixhttp.RecordPeer(ctx, conn, s.peerUID)
}

// admit refuses who may not speak to the controller at all: another user, and a
// browser. Browsers can be made to send requests to odd places, but then they
// send an Origin, or the Host that they believe to talk to.
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

// guardedMux registers each route behind the check of its access.
type guardedMux struct {
	server *Server
	rows   map[string]route // by pattern
}

// HandleFunc registers a handler. A pattern that is not in the table of routes
// is part of the description and only read.
func (m *guardedMux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	row := m.rows[pattern]
	m.server.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if row.access == writes && r.Header.Get(client.VersionHeader) == "" {
			m.server.refuse(w, r, fmt.Errorf("%w: the header %s is missing", client.ErrForbidden, client.VersionHeader))
			return
		}
		if row.limit > 0 { // a stream sets its own, write by write
			end := time.Now().Add(row.limit + maxStall)
			if err := http.NewResponseController(w).SetWriteDeadline(end); err != nil && !errors.Is(err, http.ErrNotSupported) {
				m.server.refuse(w, r, fmt.Errorf("cannot bound the answer: %w", err))
				return
			}
		}
		h(w, r)
	})
}

func (m *guardedMux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.server.mux.ServeHTTP(w, r) }
