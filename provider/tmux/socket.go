package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gascity/internal/fsutil"
)

// listening reports whether a server accepts connections at the socket. It returns errSocketPath if the path is not a
// socket, because tmux would remove the file, or if the socket belongs to another user.
func listening(ctx context.Context, socket string) (bool, error) {
	info, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: %w", errSocketPath, err)
	case info.Mode().Type() != fs.ModeSocket:
		return false, fmt.Errorf("%w: %s is not a socket; remove it", errSocketPath, socket)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return false, fmt.Errorf("%w: the socket %s belongs to user %d", errSocketPath, socket, owner.Uid)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	switch {
	case err == nil:
		_ = conn.Close() // nothing was sent
		return true, nil
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.EAGAIN):
		return true, nil // its queue is full
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	return false, fmt.Errorf("%w: %w", errSocketPath, err)
}

// lockPause is the pause between attempts to acquire the connection lock.
const lockPause = 5 * time.Millisecond

// lockPath returns the path of the file beside a socket that clients lock while they connect. The file is not removed when the
// lock is released.
func lockPath(socket string) string { return socket + ".connect" }

// lockExclusive acquires the connection lock of the server exclusively, for a client that connects. It waits until no
// other client of this package connects or disconnects, or runs one of structuralCommands.
//
// The lock prevents a crash of the server with all its sessions, seen with tmux 3.2 to 3.6. It crashes if it reports such a
// change to its control clients while one of them is connecting. Creating the hub is such a change. The lock does not
// cover the clients of people, so code that needs no control client should use QueryOnce.
func (c *controlClient) lockExclusive(ctx context.Context) (unlock func(), err error) {
	return c.lock(ctx, syscall.LOCK_EX)
}

// structuralCommands are the names of commands that create, close or rename a session, or create a paste buffer. tmux
// reports buffers only from 3.4 on, but the lock is used for all versions.
var structuralCommands = []string{"new-session", "kill-session", "kill-window", "rename-session", "setb", "set-buffer", "load-buffer"}

// lockForCommand acquires the connection lock shared for a structural command, so no client of this package connects meanwhile.
// For other commands it does nothing.
func (c *controlClient) lockForCommand(ctx context.Context, command tmuxCommand) (unlock func(), err error) {
	if slices.ContainsFunc(structuralCommands, func(word string) bool { return strings.Contains(command.line, word) }) {
		return c.lock(ctx, syscall.LOCK_SH)
	}
	return func() {}, nil
}

// closeWait is the longest time that Close waits for the connection lock.
const closeWait = 10 * time.Second

// lockForClose acquires the connection lock shared, because the server reports a closed connection to all control
// clients. It waits for at most closeWait, because a client may be connecting to a server that hangs, and then continues without
// the lock.
func (c *controlClient) lockForClose(ctx context.Context) (unlock func()) {
	c.mu.Lock()
	there := c.connection != nil
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, closeWait)
	defer cancel()
	if there {
		if unlock, err := c.lock(ctx, syscall.LOCK_SH); err == nil {
			return unlock
		}
	}
	return func() {}
}

// lock acquires the connection lock of the server. how is syscall.LOCK_EX or syscall.LOCK_SH.
func (c *controlClient) lock(ctx context.Context, how int) (unlock func(), err error) {
	file, err := os.OpenFile(lockPath(c.options.Socket), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSocketPath, err)
	}
	for {
		err := fsutil.Flock(file, how|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // closing releases the lock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close() // the error of the lock is the one to return
			return nil, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
		}
		select {
		case <-time.After(lockPause):
			continue
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-c.closing:
			err = errClosed
		}
		_ = file.Close() // nothing was written
		return nil, err
	}
}

// findProgram returns the path of a program. It searches the list of directories in path, unless binary is a path itself.
// It returns [errNoTmux] if the program is not found or not executable.
func findProgram(binary, path string) (string, error) {
	if strings.ContainsRune(binary, filepath.Separator) {
		if !runnable(binary) {
			return "", fmt.Errorf("%w: %s is not a program", errNoTmux, binary)
		}
		return binary, nil
	}
	for _, folder := range filepath.SplitList(path) {
		if found := filepath.Join(folder, binary); filepath.IsAbs(folder) && runnable(found) {
			return found, nil
		}
	}
	return "", fmt.Errorf("%w: no %s in PATH %q", errNoTmux, binary, path)
}

// runnable reports whether the file is a regular file that is executable.
func runnable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
