package unixhttp

import (
	"context"
	"fmt"
	"net"
)

// Peer is who holds the other end of a connection.
type Peer struct {
	UID, PID int
	Err      error // why it is not known
}

type peerKey struct{}

// RecordPeer asks the kernel who has connected, by ask, and keeps the answer in the
// connection's context.
func RecordPeer(ctx context.Context, conn net.Conn, ask func(*net.UnixConn) (uid, pid int, err error)) context.Context {
	var who Peer
	if unix, ok := conn.(*net.UnixConn); ok {
		who.UID, who.PID, who.Err = ask(unix)
	} else {
		who.Err = fmt.Errorf("%T is not a Unix connection", conn)
	}
	return WithPeer(ctx, who)
}

// WithPeer records a peer that is known otherwise, for [PeerOf].
func WithPeer(ctx context.Context, who Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, who)
}

// PeerOf returns who has connected; not ok outside of a request.
func PeerOf(ctx context.Context) (Peer, bool) {
	who, ok := ctx.Value(peerKey{}).(Peer)
	return who, ok
}
