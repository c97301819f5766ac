// Package httpkit contains what the servers of gc's HTTP APIs have in common: sockets in a private
// directory, the check of each request, problem documents, contexts that end with the service, and
// masked secrets. See [API]. Problem documents and streams are in package httpwire, which clients use
// too.
package httpkit

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
	"gascity/internal/fsutil"
)

const (
	folderMode = 0o700
	socketMode = 0o600

	// probeTime is the time limit of the check whether a socket is served.
	probeTime = 2 * time.Second
)

// Listen listens on the Unix socket at path, which only this user can reach. It creates the
// directory, or changes its mode, to 0700; the socket gets mode 0600. A socket without a server is
// replaced. If another process serves the socket, the error matches client.ErrRefused. A path over
// [client.MaxSocketPath] bytes is client.ErrInvalid. ctx limits the check whether the socket is
// served. Closing the listener removes the socket.
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

// privateFolders creates the directory of the socket so that only this user can enter it. If its
// parent is in a public directory such as /tmp, it does the same for the parent.
func privateFolders(dir string) error {
	if above := filepath.Dir(dir); client.PublicPlace(above) {
		if err := private(above); err != nil {
			return err
		}
	}
	return private(dir)
}

// private creates dir, and its missing parents, as directories that only this user can enter. A
// directory of another user and a symbolic link are refused, because another user could change
// them.
func private(dir string) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("cannot create the socket's directory: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("cannot check the socket's directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: %s is not a directory; remove it", client.ErrForbidden, dir)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%w: %s belongs to user %d; remove it", client.ErrForbidden, dir, owner.Uid)
	}
	if info.Mode().Perm() == folderMode {
		return nil
	}
	if err := os.Chmod(dir, folderMode); err != nil {
		return fmt.Errorf("cannot make the socket's directory private: %w", err)
	}
	return nil
}

// lock locks a file while a socket is replaced. Without the lock, a second process could remove the
// socket that the first has just created.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, socketMode)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the socket: %w", err)
	}
	if err := fsutil.Flock(file, syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock the socket %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing unlocks; nothing was written
}

// clearStale removes a socket that no process serves any more. It returns client.ErrRefused for a
// file that is not a socket, and for a socket that is served.
func clearStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot check the socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%w: %s exists and is not a socket; remove it", client.ErrRefused, path)
	}
	probe := net.Dialer{Timeout: probeTime}
	conn, err := probe.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // the connection proves that the socket is served
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
