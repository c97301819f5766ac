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

// listenWorker makes the far socket of the worker API. A previous outpost's is replaced: the
// connection that asked last is the one that has a controller behind it.
func (s *server) listenWorker(ctx context.Context, path string) error {
	own := path + "." + strconv.FormatInt(int64(os.Getpid()), 36)
	if err := os.Remove(own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the socket of the worker API is in the way: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", own)
	if err != nil {
		return fmt.Errorf("agents over there cannot reach the worker API: %w", err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // it may be a successor's by then
	if err := errors.Join(os.Chmod(own, 0o600), os.Rename(own, path)); err != nil {
		return errors.Join(err, listener.Close(), os.RemoveAll(own))
	}
	s.mu.Lock()
	s.listener = listener
	s.mu.Unlock()
	s.calls.Go(func() { s.tunnel(listener) })
	s.calls.Go(func() {
		<-s.session.CloseChan()
		listener.Close() //nolint:errcheck // see tunnel
	})
	return nil
}

// tunnel passes each connection of an agent to the near end.
func (s *server) tunnel(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // it was closed
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

// forward takes connections of agents from the far end to the worker API of this city.
func (l *link) forward(session *yamux.Session) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		stream, err := session.AcceptStreamWithContext(l.ctx)
		if err != nil {
			session.Close() //nolint:errcheck // it is lost, or not wanted any more
			return
		}
		open.Go(func() {
			defer abort(stream)
			in := bufio.NewReader(stream)
			var r request
			if readLine(in, &r) != nil || r.Op != opWorker || l.opts.Worker == nil {
				return
			}
			ctx, cancel := context.WithCancel(l.ctx)
			defer cancel()
			conn, err := l.opts.Worker(ctx)
			if err != nil {
				return // the worker sees the end of its connection, and tries again
			}
			defer conn.Close()
			splice(conn, buffered{in, stream}, session.CloseChan())
		})
	}
}

// buffered is a stream whose beginning was read already.
type buffered struct {
	*bufio.Reader
	*yamux.Stream
}

func (b buffered) Read(p []byte) (int, error) { return b.Reader.Read(p) }

func (b buffered) WriteTo(w io.Writer) (int64, error) { return b.Reader.WriteTo(w) }

// splice copies in both directions until both have ended, or the connection is lost: then
// conn is closed, whose peer would wait for ever. The end of one direction is handed on.
func splice(conn net.Conn, stream channel, lost <-chan struct{}) {
	over := make(chan struct{})
	var sides, watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-lost:
			conn.Close() //nolint:errcheck // its peer sees the end
		case <-over:
		}
	})
	sides.Go(func() {
		_, _ = io.Copy(stream, conn) // the end of either side is the end
		stream.Close()               //nolint:errcheck // of the writing side
	})
	_, _ = io.Copy(conn, stream) // the same
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite() //nolint:errcheck // the peer has gone
	}
	_ = stream.SetWriteDeadline(time.Now().Add(launchGrace)) // never fails; who has ended may read no more
	sides.Wait()
	close(over)
	watching.Wait()
}

// channel is a stream of the connection.
type channel interface {
	io.ReadWriteCloser
	SetWriteDeadline(deadline time.Time) error
}
