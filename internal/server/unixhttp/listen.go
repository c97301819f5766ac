// Package unixhttp is the Unix sockets on which a controller is reached: made in a
// private place, and only where no other controller is served; and who is at the
// other end.
package unixhttp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"gascity/client"
)

const (
	folderMode = 0o700
	socketMode = 0o600

	// probeTime bounds the question whether a socket is alive.
	probeTime = 2 * time.Second
)

// Listen listens on the Unix socket at path, which only this user can reach: its
// folder is made, or made private, with mode 0700, and the socket gets 0600. A
// socket without a server is replaced; one that is served is left alone: the
// error matches client.ErrRefused then. A path over [client.MaxSocketPath] bytes
// is client.ErrInvalid. ctx bounds the question whether it is served. Closing
// the listener removes the socket.
func Listen(ctx context.Context, path string) (*net.UnixListener, error) {
	if len(path) > client.MaxSocketPath {
		return nil, fmt.Errorf("%w: socket path %s has %d bytes, at most %d are allowed", client.ErrInvalid, path, len(path), client.MaxSocketPath)
	}
	if err := privateFolders(filepath.Dir(path)); err != nil {
		return nil, err
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := clearStale(ctx, path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot make the socket private: %w", err), l.Close())
	}
	return l, nil
}

// privateFolders makes dir private, and the folder above too if that stands in
// a public place.
func privateFolders(dir string) error {
	if above := filepath.Dir(dir); client.PublicPlace(above) {
		if err := private(above); err != nil {
			return err
		}
	}
	return private(dir)
}

// private makes dir a folder that only this user can enter. Parents that are
// missing are made the same way. A folder of another user, or a symbolic link,
// is refused: it could be changed under us.
func private(dir string) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("cannot make the socket's folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("cannot look at the socket's folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: %s is not a folder; remove it", client.ErrForbidden, dir)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%w: %s belongs to user %d; remove it", client.ErrForbidden, dir, owner.Uid)
	}
	if info.Mode().Perm() == folderMode {
		return nil
	}
	if err := os.Chmod(dir, folderMode); err != nil {
		return fmt.Errorf("cannot make the socket's folder private: %w", err)
	}
	return nil
}

// lock keeps two processes from replacing the same stale socket: the second
// would remove what the first has just made.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, socketMode)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the socket: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock the socket %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing unlocks; nothing was written
}

// clearStale removes a socket without a server. What is not a socket is left alone.
func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look at the socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%w: %s is in the way and is not a socket; remove it", client.ErrRefused, path)
	}
	probe := net.Dialer{Timeout: probeTime}
	conn, err := probe.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // it has sent the answer
		return fmt.Errorf("%w: %s is served by another controller", client.ErrRefused, path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: cannot find out whether %s is served: %w", client.ErrRefused, path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the stale socket: %w", err)
	}
	return nil
}
