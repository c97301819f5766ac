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
	// maxSocketPath is what fits into the address of a Unix socket on every system.
	maxSocketPath = 100
	socketName    = "agent.sock"
	// maxFrame bounds one message of the terminal client.
	maxFrame = 64 << 20
	// sendWithin bounds the sending of one message to the terminal client.
	sendWithin = 30 * time.Second
)

// socket is where the terminal client reaches this program: a socket in a folder that only
// this user can enter.
type socket struct {
	path string
	own  string // the temporary folder that was made for it; empty: none
	net  net.Listener
}

// listen opens the socket in the session's own folder, or in a new temporary one where that
// path is too long or is not private.
func listen(ctx context.Context, dir string) (*socket, error) {
	p := &socket{path: filepath.Join(dir, socketName)}
	if dir == "" || len(p.path) > maxSocketPath || !private(dir) {
		own, err := os.MkdirTemp("", "gc-") // its mode is 0700
		if err != nil {
			return nil, err
		}
		p.own, p.path = own, filepath.Join(own, socketName)
	}
	_ = os.Remove(p.path) // of a session before this one
	l, err := new(net.ListenConfig).Listen(ctx, "unix", p.path)
	if err != nil {
		p.close()
		return nil, err
	}
	p.net = l
	return p, nil
}

// private reports whether a folder can be entered by its owner alone.
func private(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0
}

// close closes the socket and removes it.
func (p *socket) close() {
	if p.net != nil {
		_ = p.net.Close() // it removes the socket
	}
	if p.own != "" {
		_ = os.RemoveAll(p.own) // a temporary folder
	}
}

// serve relays for one terminal client at a time until the socket is closed. A second client
// is refused: the server knows one.
func (p *socket) serve(ctx context.Context, s *server) error {
	var one sync.Mutex
	upgrader := websocket.Upgrader{CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == "" }} // no web page
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !one.TryLock() {
			http.Error(w, "another client is connected", http.StatusConflict)
			return
		}
		defer one.Unlock()
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return // it has been answered
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

// relay carries messages between the terminal client and the server until the client leaves.
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
		if s.fromClient(ctx, text) != nil {
			return
		}
	}
}
