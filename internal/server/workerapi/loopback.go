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

// ListenLoopback listens on a port of 127.0.0.1, for workers that cannot use a Unix socket. It uses
// the port want if that is free, and otherwise, or if want is zero, a random port. Every user of
// the machine can connect; the token protects the port, and on Linux also the check of the user.
func ListenLoopback(ctx context.Context, want int) (*net.TCPListener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(want)))
	if err != nil && want != 0 {
		return ListenLoopback(ctx, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on the loopback address: %w", err)
	}
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil, errors.Join(errors.New("the loopback listener is not a TCP listener"), l.Close())
	}
	return tcp, nil
}

// PortFile returns the path of the file from which the worker of a session reads the port. dir is
// the city's runtime directory.
func PortFile(dir, session string) string {
	return filepath.Join(dir, "worker-"+url.PathEscape(session)+".port")
}

// WritePort writes the port of a listener to the port file of a session. The file has mode 0600 and
// appears complete or not at all.
func WritePort(dir, session string, l net.Listener) error {
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("%s is not a port", l.Addr())
	}
	if err := fsutil.ReplaceFile(PortFile(dir, session), []byte(strconv.Itoa(addr.Port)+"\n")); err != nil {
		return fmt.Errorf("cannot write a port file: %w", err)
	}
	return nil
}

// RemovePort removes the port file of a session. It returns nil if there is no file.
func RemovePort(dir, session string) error {
	if err := os.Remove(PortFile(dir, session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove a port file: %w", err)
	}
	return nil
}

// RenewPorts writes the port of l to all existing port files. If l is nil, it removes them.
func RenewPorts(dir string, l net.Listener) error {
	paths, err := filepath.Glob(filepath.Join(dir, "worker-*.port"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "worker-"), ".port")
		session, bad := url.PathUnescape(name)
		if bad != nil {
			continue // not a port file of gc
		}
		if l == nil {
			err = errors.Join(err, RemovePort(dir, session))
		} else {
			err = errors.Join(err, WritePort(dir, session, l))
		}
	}
	return err
}
