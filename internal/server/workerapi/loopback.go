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
)

// ListenLoopback listens on a port of 127.0.0.1, for workers that cannot use a Unix
// socket: on the wanted one, if it is free, else on a random one. Zero wants none.
// Anybody on the machine can connect: the token protects it, and on Linux the user.
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

// PortFile returns the file that gives the worker of a session the port, below the
// city's runtime folder.
func PortFile(dir, session string) string {
	return filepath.Join(dir, "worker-"+url.PathEscape(session)+".port")
}

// WritePort writes for the worker of a session the port of a listener. The file has
// mode 0600, and is there as a whole or not at all.
func WritePort(dir, session string, l net.Listener) error {
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("%s is not a port", l.Addr())
	}
	file, err := os.CreateTemp(dir, ".worker-*.port") // mode 0600
	if err != nil {
		return fmt.Errorf("cannot write a port file: %w", err)
	}
	_, err = file.WriteString(strconv.Itoa(addr.Port) + "\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), PortFile(dir, session))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot write a port file: %w", err), os.Remove(file.Name()))
	}
	return nil
}

// RemovePort takes the port file of a session away; one that is not there is nil.
func RemovePort(dir, session string) error {
	if err := os.Remove(PortFile(dir, session)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove a port file: %w", err)
	}
	return nil
}

// RenewPorts writes the port of l for the workers of all sessions with a port
// file; with none it removes their files.
func RenewPorts(dir string, l net.Listener) error {
	paths, err := filepath.Glob(filepath.Join(dir, "worker-*.port"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "worker-"), ".port")
		session, bad := url.PathUnescape(name)
		if bad != nil {
			continue // none of ours
		}
		if l == nil {
			err = errors.Join(err, RemovePort(dir, session))
		} else {
			err = errors.Join(err, WritePort(dir, session, l))
		}
	}
	return err
}
