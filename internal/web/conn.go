package web

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"sync"

	"gascity/internal/retry"
)

// The limits of connections.
const (
	maxUnproven = 256 // connections that have not proved a device
	maxProven   = 1024
)

// boundedListener limits the number of connections. The next connection beyond the limit closes the
// oldest one that has not proved a device.
type boundedListener struct {
	net.Listener

	mu       sync.Mutex
	unproven *list.List // of *conn, oldest first; guarded by mu
	proven   int        // guarded by mu
}

func newBoundedListener(l net.Listener) *boundedListener {
	return &boundedListener{Listener: l, unproven: list.New()}
}

// Accept implements [net.Listener].
func (l *boundedListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, listener: l}
	if oldest := l.add(c); oldest != nil {
		_ = oldest.Close() // the listener needs its place
	}
	return c, nil
}

// add adds a connection. It returns the connection that must be closed, or nil.
func (l *boundedListener) add(c *conn) *conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.at = l.unproven.PushBack(c)
	if l.unproven.Len() <= maxUnproven {
		return nil
	}
	oldest, _ := l.unproven.Front().Value.(*conn)
	return oldest
}

// conn is one connection of a boundedListener.
type conn struct {
	net.Conn
	listener *boundedListener

	at     *list.Element // in listener.unproven; nil: not there; guarded by listener.mu
	proven bool          // guarded by listener.mu

	requests retry.Bucket // requests without a device; guarded by listener.mu
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.listener.mu.Lock()
	if c.at != nil {
		c.listener.unproven.Remove(c.at)
		c.at = nil
	}
	if c.proven {
		c.proven = false
		c.listener.proven--
	}
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// prove records that the connection belongs to a device.
func (c *conn) prove() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.at == nil || c.listener.proven >= maxProven {
		return
	}
	c.listener.unproven.Remove(c.at)
	c.at = nil
	c.proven = true
	c.listener.proven++
}

type connKey struct{}

// withConn returns the context of a connection, see [httpkit.Service].
func withConn(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// proveConn records that the connection of a request belongs to a device.
func proveConn(ctx context.Context) {
	if c, ok := ctx.Value(connKey{}).(*conn); ok {
		c.prove()
	}
}
