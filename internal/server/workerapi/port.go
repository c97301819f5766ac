package workerapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Port is the loopback transport of a city: a listener, and the port files of sessions. All methods
// except Listener may be called on nil, which means that the city has no port.
type Port struct {
	dir      string // directory of the port files
	listener *net.TCPListener
}

// OpenPort opens the listener. kept is a file that stores the port number, so that the next
// controller uses the same port if it is free and running agents find it.
func OpenPort(ctx context.Context, dir, kept string) (*Port, error) {
	text, err := os.ReadFile(kept)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the port of the worker API: %w", err)
	}
	was, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		was = 0 // no port is stored
	}
	l, err := ListenLoopback(ctx, was)
	if err != nil {
		return nil, err
	}
	p := &Port{dir, l}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err == nil {
		err = os.WriteFile(kept, []byte(port+"\n"), 0o600)
	}
	if err = errors.Join(err, RenewPorts(dir, l)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return p, nil
}

// Open reports whether the city has a port for the worker API.
func (p *Port) Open() bool { return p != nil }

// Listener returns the listener for [Server.Run].
func (p *Port) Listener() net.Listener { return p.listener }

// URL returns the address for workers, or an empty string if there is no port.
func (p *Port) URL() string {
	if p == nil {
		return ""
	}
	return "http://" + p.listener.Addr().String()
}

// Announce writes the port to the session's port file, where its worker reads it.
func (p *Port) Announce(session string) error {
	if p == nil {
		return nil
	}
	return WritePort(p.dir, session, p.listener)
}

// RemoveFile removes the port file of a session.
func (p *Port) RemoveFile(session string) error {
	if p == nil {
		return nil
	}
	return RemovePort(p.dir, session)
}

// Close closes the listener.
func (p *Port) Close() error {
	if p == nil {
		return nil
	}
	return p.listener.Close()
}
