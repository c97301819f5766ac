package httpkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
)

// Check returns an error for a request that a server must not answer.
type Check func(*http.Request) error

// FromOwner returns an error if the connection is not from this process's user or from root, or if
// its user is unknown.
func (a *API) FromOwner(r *http.Request) error {
	who, met := PeerOf(r.Context())
	switch {
	case !met:
		return fmt.Errorf("%w: unknown connection", a.Forbidden)
	case who.Err != nil:
		return fmt.Errorf("%w: cannot identify the peer: %w", a.Forbidden, who.Err)
	case who.UID == a.owner || who.UID == 0:
		return nil
	case who.PID == 0:
		return fmt.Errorf("%w: user %d is not this %s's owner", a.Forbidden, who.UID, a.Service)
	}
	return fmt.Errorf("%w: user %d (process %d) is not this %s's owner", a.Forbidden, who.UID, who.PID, a.Service)
}

// FromOwnerIfKnown is [API.FromOwner] for a TCP connection. If the system cannot report the user of
// a connection, it permits the request; then only the token protects the API.
func (a *API) FromOwnerIfKnown(r *http.Request) error {
	if who, _ := PeerOf(r.Context()); errors.Is(who.Err, errors.ErrUnsupported) {
		return nil
	}
	return a.FromOwner(r)
}

// NotFromPage returns an error if a web page caused the request, which it detects by headers that
// browsers add. Otherwise any page could send requests to local addresses.
func (a *API) NotFromPage(r *http.Request) error {
	if r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return fmt.Errorf("%w: the request comes from a web page", a.Forbidden)
	}
	return nil
}

// ForHost returns a check that refuses a request whose header Host is none of the given ones.
func (a *API) ForHost(hosts ...string) Check {
	return func(r *http.Request) error {
		if !slices.Contains(hosts, r.Host) {
			return fmt.Errorf("%w: the request is for the host %q, which is not a name of this %s", a.Forbidden, r.Host, a.Service)
		}
		return nil
	}
}

// connect returns the context for a new connection, which contains the user and process at its
// other end, and sets the connection's send buffer.
func (a *API) connect(ctx context.Context, c net.Conn) context.Context {
	if sized, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok && a.SendBuffer > 0 {
		if err := sized.SetWriteBuffer(a.SendBuffer); err != nil {
			a.Log.Debug("cannot set the send buffer of a connection", "listener", a.Name, "error", err)
		}
	}
	return context.WithValue(ctx, peerKey{}, a.peer(c))
}

// peer returns which user and process are at the other end of a connection.
func (a *API) peer(c net.Conn) (who Peer) {
	switch c := c.(type) {
	case *net.UnixConn:
		who.UID, who.PID, who.Err = a.PeerUID(c)
	case *net.TCPConn:
		local, err := netip.ParseAddrPort(c.LocalAddr().String())
		remote, bad := netip.ParseAddrPort(c.RemoteAddr().String())
		if who.Err = errors.Join(err, bad); who.Err == nil {
			who.UID, who.Err = a.LoopbackUID(local, remote)
		}
	default:
		who.Err = fmt.Errorf("%T is neither a Unix nor a TCP connection", c)
	}
	return who
}
