package httpkit

import "context"

// Peer is the process at the other end of a connection.
type Peer struct {
	UID, PID int   // a PID of 0 is unknown
	Err      error // why the user is not known; nil: it is known
}

type peerKey struct{}

// PeerOf returns the peer of a request's connection. It returns false if the context has none.
func PeerOf(ctx context.Context) (Peer, bool) {
	who, ok := ctx.Value(peerKey{}).(Peer)
	return who, ok
}
