package workerapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"gascity/internal/domain/workerrun"
	"gascity/internal/server/unixhttp"
	"gascity/worker"
)

// admitUnix returns worker.ErrForbidden for a request on the socket from another user or from a web
// page.
func (s *Server) admitUnix(r *http.Request) error {
	who, met := unixhttp.PeerOf(r.Context())
	switch {
	case !met:
		return fmt.Errorf("%w: unknown connection", worker.ErrForbidden)
	case who.Err != nil:
		return fmt.Errorf("%w: cannot identify the peer: %w", worker.ErrForbidden, who.Err)
	case who.UID != s.owner && who.UID != 0:
		return fmt.Errorf("%w: user %d (process %d) is not this city's owner", worker.ErrForbidden, who.UID, who.PID)
	}
	return admitNoPage(r)
}

// admitLoopback returns a check for requests on the loopback port. It refuses another user where
// the system reports the user of a connection. It also refuses requests of web pages, and requests
// for another host name or port.
func (s *Server) admitLoopback(addr *net.TCPAddr) func(*http.Request) error {
	port := strconv.Itoa(addr.Port)
	return func(r *http.Request) error {
		switch who, _ := unixhttp.PeerOf(r.Context()); {
		case errors.Is(who.Err, errors.ErrUnsupported): // only the token protects the port
		case who.Err != nil:
			return fmt.Errorf("%w: cannot identify the peer: %w", worker.ErrForbidden, who.Err)
		case who.UID != s.owner && who.UID != 0:
			return fmt.Errorf("%w: user %d is not this city's owner", worker.ErrForbidden, who.UID)
		}
		host, p, err := net.SplitHostPort(r.Host)
		if err != nil || p != port || host != "127.0.0.1" && host != "localhost" && host != "::1" {
			return fmt.Errorf("%w: host %q is not this city", worker.ErrForbidden, r.Host)
		}
		return admitNoPage(r)
	}
}

// sendBuffer is the size of the system's send buffer in bytes. It is small because the system
// reports progress only when a large part of the buffer is sent; a large buffer would hide a slow
// reader.
const sendBuffer = 16 << 10

// recordPeer returns the context of a connection with its peer, and sets the send buffer.
func (s *Server) recordPeer(ctx context.Context, c net.Conn) context.Context {
	if c, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		if err := c.SetWriteBuffer(sendBuffer); err != nil {
			s.log.Debug("cannot set the send buffer of a worker API connection", "error", err)
		}
	}
	if _, tcp := c.(*net.TCPConn); !tcp {
		return unixhttp.RecordPeer(ctx, c, s.peerUID)
	}
	who := unixhttp.Peer{}
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	remote, bad := netip.ParseAddrPort(c.RemoteAddr().String())
	if who.Err = errors.Join(err, bad); who.Err == nil {
		who.UID, who.Err = s.loopbackUID(local, remote)
	}
	return unixhttp.WithPeer(ctx, who)
}

// admitNoPage returns worker.ErrForbidden for a request that a web page caused.
func admitNoPage(r *http.Request) error {
	if r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return fmt.Errorf("%w: the request comes from a web page", worker.ErrForbidden)
	}
	return nil
}

// caller returns the caller that the token of a request identifies.
func (s *Server) caller(r *http.Request) (workerrun.Caller, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return workerrun.Caller{}, fmt.Errorf("%w: the header Authorization: Bearer with the run's token (GC_WORKER_TOKEN) is missing", worker.ErrUnauthorized)
	}
	return s.city.Authenticate(token)
}

// may returns an error if the caller may not use the route for the run with the given ID.
func (row route) may(who workerrun.Caller, id string) error {
	switch {
	case id == "" && row.all && who.Owner:
		return nil
	case id == "":
		return fmt.Errorf("%w: run_id is missing", worker.ErrInvalid)
	case row.who == workers && who.CanReportFor(id), row.who == directors && who.CanDirect(id):
		return nil
	case row.who == workers && who.Owner:
		return fmt.Errorf("%w: only the run's own worker may do this", worker.ErrForbidden)
	}
	return fmt.Errorf("%w: the token is that of another run", worker.ErrForbidden)
}
