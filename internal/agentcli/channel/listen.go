package channel

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// maxSocketPath is the maximum length of a Unix socket path on every system.
	maxSocketPath = 100
	socketName    = "agent.sock"
	// maxFrame is the maximum size in bytes of a message of the terminal client.
	maxFrame = 64 << 20
	// sendWithin is the time limit for sending one message to the terminal client.
	sendWithin = 30 * time.Second
)

// socket is the Unix socket to which the client connects, in a directory that only this user can
// access.
type socket struct {
	path string
	own  string // the temporary directory created for the socket; empty: none
	net  net.Listener
}

// listen opens the socket in the directory dir of the session. If the path would be too long or
// others can access dir, it creates a temporary directory for the socket.
func listen(ctx context.Context, dir string) (*socket, error) {
	p := &socket{path: filepath.Join(dir, socketName)}
	if dir == "" || len(p.path) > maxSocketPath || !private(dir) {
		own, err := os.MkdirTemp("", "gc-") // its mode is 0700
		if err != nil {
			return nil, err
		}
		p.own, p.path = own, filepath.Join(own, socketName)
	}
	_ = os.Remove(p.path) // left by an earlier session
	l, err := new(net.ListenConfig).Listen(ctx, "unix", p.path)
	if err != nil {
		p.close()
		return nil, err
	}
	p.net = l
	return p, nil
}

// private reports whether only its owner can access a directory.
func private(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0
}

// close closes the socket and removes it, with its temporary directory.
func (p *socket) close() {
	if p.net != nil {
		_ = p.net.Close() // it removes the socket
	}
	if p.own != "" {
		_ = os.RemoveAll(p.own) // a temporary folder
	}
}

// serve accepts one client at a time on the socket and passes messages between it and the server,
// until the socket is closed. While a client is connected, it refuses another one, because the
// server supports only one.
func (p *socket) serve(ctx context.Context, s *server) error {
	var one sync.Mutex
	upgrader := websocket.Upgrader{CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == "" }} // refuse web pages
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !one.TryLock() {
			http.Error(w, "another client is connected", http.StatusConflict)
			return
		}
		defer one.Unlock()
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return // Upgrade has already answered
		}
		defer conn.Close()
		relay(ctx, conn, s)
	})
	h := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	if err := h.Serve(p.net); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// relay passes messages between one client and the server until the client disconnects.
func relay(ctx context.Context, conn *websocket.Conn, s *server) {
	conn.SetReadLimit(maxFrame)
	var sending sync.Mutex
	s.connect(func(line []byte) error {
		sending.Lock()
		defer sending.Unlock()
		if err := conn.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
			return err
		}
		return conn.WriteMessage(websocket.TextMessage, line)
	})
	defer s.connect(nil)
	for {
		kind, text, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if kind != websocket.TextMessage {
			continue
		}
		if s.handleClient(ctx, text) != nil {
			return
		}
	}
}
