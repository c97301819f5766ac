package control

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
)

// listening reports whether a server accepts connections at the socket. Something else than
// a socket at the path is ErrSocketPath: tmux would remove it.
func listening(ctx context.Context, socket string) (bool, error) {
	info, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: %w", ErrSocketPath, err)
	case info.Mode().Type() != fs.ModeSocket:
		return false, fmt.Errorf("%w: %s is not a socket; remove it", ErrSocketPath, socket)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return false, fmt.Errorf("%w: the socket %s belongs to user %d", ErrSocketPath, socket, owner.Uid)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	switch {
	case err == nil:
		_ = conn.Close() // it said nothing
		return true, nil
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.EAGAIN):
		return true, nil // its queue is full
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	return false, fmt.Errorf("%w: %w", ErrSocketPath, err)
}

// prepareFolder makes the folder of the socket, or makes sure that no other user may enter
// it.
func prepareFolder(socket string) error {
	folder := filepath.Dir(socket)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("%w: %w", ErrSocketPath, err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSocketPath, err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: the folder %s belongs to user %d", ErrSocketPath, folder, owner.Uid)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: others may enter the folder %s, its mode is %#o; make it 0700", ErrSocketPath, folder, info.Mode().Perm())
	}
	return nil
}

// lockPause is how long to wait before a lock that is held is tried again.
const lockPause = 5 * time.Millisecond

// Lock returns the file beside a socket that clients lock while they connect. It stays.
func Lock(socket string) string { return socket + ".connect" }

// lockExclusive waits until no other client of this package connects to the server, none leaves, and none
// makes, closes or renames a session there, or a paste buffer from 3.4 on. tmux 3.2 to 3.6 at least
// crashes, with all its sessions, when it has to report that to its control clients while one of
// them introduces itself; making the hub is such a moment. A person who leaves cannot be kept from
// it, so who does not need a control client should not be one: see Glance.
func (c *Client) lockExclusive(ctx context.Context) (unlock func(), err error) {
	return c.lock(ctx, syscall.LOCK_EX)
}

// structuralCommands are the words of commands that make, close or rename a session, or make a paste
// buffer. A server reports buffers only from 3.4 on; they count for all.
var structuralCommands = []string{"new-session", "kill-session", "kill-window", "rename-session", "setb", "set-buffer", "load-buffer"}

// waitForOthers is for commands that make, close or rename a session or make a buffer: it waits until no
// client of this package connects to the server, and lets none. For others it does nothing.
func (c *Client) waitForOthers(ctx context.Context, commands []Command) (unlock func(), err error) {
	for _, command := range commands {
		line, _ := command.Line() // was looked at before
		holds := func(word string) bool { return strings.Contains(line, word) }
		if slices.ContainsFunc(structuralCommands, holds) {
			return c.lock(ctx, syscall.LOCK_SH)
		}
	}
	return func() {}, nil
}

// closeWait is how long a client that leaves waits for those that connect.
const closeWait = time.Second

// waitBeforeClose is steady for a connection that is closed, which is reported to all control clients
// too. It does not wait for long.
func (c *Client) waitBeforeClose(ctx context.Context) (unlock func()) {
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

// lock takes the lock of the server's connections, for itself or with others.
func (c *Client) lock(ctx context.Context, how int) (unlock func(), err error) {
	file, err := os.OpenFile(Lock(c.options.Socket), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSocketPath, err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // closing gives the lock back
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close() // the lock says what is wrong
			return nil, fmt.Errorf("cannot lock %s: %w", file.Name(), err)
		}
		select {
		case <-time.After(lockPause):
			continue
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-c.closing:
			err = ErrClosed
		}
		_ = file.Close() // nothing was written
		return nil, err
	}
}

// FindProgram finds the program in the list of folders. A path is taken as it is. What is not
// found is [ErrNoTmux].
func FindProgram(binary, path string) (string, error) {
	if strings.ContainsRune(binary, filepath.Separator) {
		if !runnable(binary) {
			return "", fmt.Errorf("%w: %s is not a program", ErrNoTmux, binary)
		}
		return binary, nil
	}
	for _, folder := range filepath.SplitList(path) {
		if found := filepath.Join(folder, binary); filepath.IsAbs(folder) && runnable(found) {
			return found, nil
		}
	}
	return "", fmt.Errorf("%w: no %s in PATH %q", ErrNoTmux, binary, path)
}

func runnable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
