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

// Port is the loopback transport of a city: a listener, and the files with its port
// for the workers of sessions. A nil one is that of a city without; all methods may
// be called on it.
type Port struct {
	dir      string // of the port files
	listener *net.TCPListener
}

// OpenPort listens. kept is a file that remembers the port: agents that run across a
// restart of the controller find the next one there, unless somebody else has taken
// it.
func OpenPort(ctx context.Context, dir, kept string) (*Port, error) {
	text, err := os.ReadFile(kept)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the port of the worker API: %w", err)
	}
	was, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		was = 0 // there was none, or it is unknown
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

// Open reports whether there is a port.
func (p *Port) Open() bool { return p != nil }

// Listener returns what [Server.Run] serves on.
func (p *Port) Listener() net.Listener { return p.listener }

// URL returns the address for workers; empty if there is none.
func (p *Port) URL() string {
	if p == nil {
		return ""
	}
	return "http://" + p.listener.Addr().String()
}

// Announce writes the port for the worker of a session.
func (p *Port) Announce(session string) error {
	if p == nil {
		return nil
	}
	return WritePort(p.dir, session, p.listener)
}

// RemoveFile takes the port file of a session away.
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
