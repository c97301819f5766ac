package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// listenWorker creates the remote socket of the worker API. It replaces the socket of a previous outpost, because the newest
// connection is the one to a running controller.
func (s *server) listenWorker(ctx context.Context, path string) error {
	own := path + "." + strconv.FormatInt(int64(os.Getpid()), 36)
	if err := os.Remove(own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the old socket of the worker API: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", own)
	if err != nil {
		return fmt.Errorf("cannot create the socket of the worker API: %w", err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // the path may belong to a later outpost by then
	if err := errors.Join(os.Chmod(own, 0o600), os.Rename(own, path)); err != nil {
		return errors.Join(err, listener.Close(), os.RemoveAll(own))
	}
	s.mu.Lock()
	s.listener = listener
	s.mu.Unlock()
	s.calls.Go(func() { s.tunnel(listener) })
	s.calls.Go(func() {
		<-s.session.CloseChan()
		listener.Close() //nolint:errcheck // stops tunnel
	})
	return nil
}

// tunnel forwards each connection of an agent to the local end.
func (s *server) tunnel(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // the listener was closed
		}
		s.calls.Go(func() {
			defer conn.Close()
			stream, err := s.session.OpenStream()
			if err != nil {
				return
			}
			defer abort(stream)
			if writeLine(stream, request{Op: opWorker}) == nil {
				splice(conn, stream, s.session.CloseChan())
			}
		})
	}
}

// forward connects streams of remote agents to the worker API of this city.
func (l *link) forward(session *yamux.Session) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		stream, err := session.AcceptStreamWithContext(l.ctx)
		if err != nil {
			session.Close() //nolint:errcheck // an error does not matter
			return
		}
		open.Go(func() {
			defer abort(stream)
			in := bufio.NewReader(stream)
			var r request
			if readLine(in, &r) != nil || r.Op != opWorker || l.opts.Socket == "" {
				return
			}
			ctx, cancel := context.WithCancel(l.ctx)
			defer cancel()
			conn, err := new(net.Dialer).DialContext(ctx, "unix", l.opts.Socket)
			if err != nil {
				return // the worker's connection closes, and it tries again
			}
			defer conn.Close()
			splice(conn, buffered{in, stream}, session.CloseChan())
		})
	}
}

// buffered is a stream whose first bytes are already in a buffer.
type buffered struct {
	*bufio.Reader
	*yamux.Stream
}

func (b buffered) Read(p []byte) (int, error) { return b.Reader.Read(p) }

func (b buffered) WriteTo(w io.Writer) (int64, error) { return b.Reader.WriteTo(w) }

// splice copies in both directions until both have ended or the connection is lost. If the connection is lost, it closes conn,
// because conn's peer would wait for ever. The end of one direction is passed on to the other side.
func splice(conn net.Conn, stream channel, lost <-chan struct{}) {
	over := make(chan struct{})
	var sides, watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-lost:
			conn.Close() //nolint:errcheck // conn's peer reads the end
		case <-over:
		}
	})
	sides.Go(func() {
		_, _ = io.Copy(stream, conn) // an error ends this direction
		stream.Close()               //nolint:errcheck // closes the writing side
	})
	_, _ = io.Copy(conn, stream) // an error ends this direction
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite() //nolint:errcheck // an error means that the peer is gone
	}
	_ = stream.SetWriteDeadline(time.Now().Add(launchGrace)) // never fails; a peer that has closed may not read any more
	sides.Wait()
	close(over)
	watching.Wait()
}

// channel is the part of a stream that splice needs.
type channel interface {
	io.ReadWriteCloser
	SetWriteDeadline(deadline time.Time) error
}
