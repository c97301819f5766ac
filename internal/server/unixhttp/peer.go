package unixhttp

import (
	"context"
	"fmt"
	"net"
)

// Peer is the process at the other end of a connection.
type Peer struct {
	UID, PID int
	Err      error // why the process is not known; nil: it is known
}

type peerKey struct{}

// RecordPeer returns a context with the peer of a Unix connection, which ask returns.
func RecordPeer(ctx context.Context, conn net.Conn, ask func(*net.UnixConn) (uid, pid int, err error)) context.Context {
	var who Peer
	if unix, ok := conn.(*net.UnixConn); ok {
		who.UID, who.PID, who.Err = ask(unix)
	} else {
		who.Err = fmt.Errorf("%T is not a Unix connection", conn)
	}
	return WithPeer(ctx, who)
}

// WithPeer returns a context with a peer, for [PeerOf].
func WithPeer(ctx context.Context, who Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, who)
}

// PeerOf returns the peer of a request's connection. It returns false if the context has none.
func PeerOf(ctx context.Context) (Peer, bool) {
	who, ok := ctx.Value(peerKey{}).(Peer)
	return who, ok
}
