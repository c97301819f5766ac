package workerapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gascity/internal/fsutil"
)

// Port is the loopback transport of a city, for workers that cannot use a Unix socket: a listener,
// and the port files of sessions. Every user of the machine can connect; the token protects the
// port, and on Linux also the check of the user. All methods except Listener may be called on nil,
// which means that the city has no port.
type Port struct {
	dir      string // directory of the port files
	number   string
	listener net.Listener
}

// OpenPort opens the listener, on 127.0.0.1, and writes its port to the existing port files in dir.
// kept is a file that stores the port number. The next controller uses the same port if it is free,
// so that running agents find it.
func OpenPort(ctx context.Context, dir, kept string) (*Port, error) {
	text, err := os.ReadFile(kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the port of the worker API: %w", err)
	}
	was, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		was = 0 // no port is stored
	}
	l, err := listenLoopback(ctx, was)
	if err != nil {
		return nil, err
	}
	p := &Port{dir: dir, listener: l}
	if _, p.number, err = net.SplitHostPort(l.Addr().String()); err == nil {
		err = os.WriteFile(kept, []byte(p.number+"\n"), 0o600)
	}
	sessions, listed := sessionsWithPort(dir)
	err = errors.Join(err, listed)
	for _, session := range sessions {
		err = errors.Join(err, p.Announce(session))
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return p, nil
}

// listenLoopback listens on a port of 127.0.0.1. It uses the port want if that is free, and
// otherwise, or if want is zero, a random port.
func listenLoopback(ctx context.Context, want int) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(want)))
	if err != nil && want != 0 {
		return listenLoopback(ctx, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on the loopback address: %w", err)
	}
	return l, nil
}

// Listener returns the listener for [Server.Run].
func (p *Port) Listener() net.Listener { return p.listener }

// URL returns the address for workers, or an empty string if there is no port.
func (p *Port) URL() string {
	if p == nil {
		return ""
	}
	return "http://" + p.listener.Addr().String()
}

// Announce writes the port to the session's port file, where its worker reads it. The file has mode
// 0600 and appears complete or not at all.
func (p *Port) Announce(session string) error {
	if p == nil {
		return nil
	}
	if err := fsutil.ReplaceFile(PortFile(p.dir, session), []byte(p.number+"\n")); err != nil {
		return fmt.Errorf("cannot write a port file: %w", err)
	}
	return nil
}

// RemoveFile removes the port file of a session. It returns nil if there is no file.
func (p *Port) RemoveFile(session string) error {
	if p == nil {
		return nil
	}
	return removePortFile(p.dir, session)
}

// Close closes the listener.
func (p *Port) Close() error {
	if p == nil {
		return nil
	}
	return p.listener.Close()
}

// PortFile returns the path of the file from which the worker of a session reads the port. dir is
// the city's runtime directory.
func PortFile(dir, session string) string {
	return filepath.Join(dir, "worker-"+url.PathEscape(session)+".port")
}

// removePortFile removes the port file of a session. It returns nil if there is no file.
func removePortFile(dir, session string) error {
	if err := os.Remove(PortFile(dir, session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove a port file: %w", err)
	}
	return nil
}

// RemovePortFiles removes the port files of all sessions, because the city has no port any more.
func RemovePortFiles(dir string) error {
	sessions, err := sessionsWithPort(dir)
	for _, session := range sessions {
		err = errors.Join(err, removePortFile(dir, session))
	}
	return err
}

// sessionsWithPort returns the sessions that have a port file in dir.
func sessionsWithPort(dir string) (sessions []string, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "worker-*.port"))
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "worker-"), ".port")
		if session, bad := url.PathUnescape(name); bad == nil { // otherwise it is not a port file of gc
			sessions = append(sessions, session)
		}
	}
	return sessions, err
}
