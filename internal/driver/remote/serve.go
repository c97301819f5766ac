package remote

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"gascity/runtime"
)

// ServeOptions are the options of [Serve].
type ServeOptions struct {
	// Dir is a private folder of the outpost for uploaded files and the worker API's socket. It is created if it is missing.
	Dir string
	// Socket is the path of the worker API's socket for agents of this machine. Empty means a file in Dir. Its folder must be
	// private, and the path must be at least 8 bytes shorter than the longest socket path that the system allows.
	Socket string
	// Version is sent to the local end.
	Version string
	// Program is the path of gc on this machine, for the environment of its agents. Empty means that it is not known.
	Program string
	// Remove removes all files of the outpost; no session exists when it is called. Nil means that removing is not supported.
	Remove func() error
}

// workerSocket is the file name of the worker API's socket in the outpost's folder.
const workerSocket = "worker.sock"

// Serve runs the calls that arrive over conn with p, until the local end closes conn or ctx ends; then it closes conn.
// Uninterruptible calls, such as stops and interrupts, are finished; all others are cancelled. It returns when the last call
// has finished, and returns nil if the local end closed the connection in the regular way.
func Serve(ctx context.Context, p runtime.Provider, conn io.ReadWriteCloser, opts ServeOptions) error {
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return fmt.Errorf("cannot create the folder of the outpost (gc on the remote host): %w", err)
	}
	session, err := yamux.Server(conn, settings())
	if err != nil {
		return fmt.Errorf("cannot serve: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &server{provider: p, opts: opts, session: session, uploads: map[string]bool{}}
	s.removeStaleUploads()
	var closing sync.WaitGroup
	closing.Go(func() {
		<-ctx.Done()
		session.Close() //nolint:errcheck // an error does not matter
	})
	err = s.accept(ctx)
	cancel()
	closing.Wait()
	s.calls.Wait()
	s.discardAll()
	return err
}

// server is the remote end of one connection.
type server struct {
	provider runtime.Provider
	opts     ServeOptions
	session  *yamux.Session
	calls    sync.WaitGroup

	mu       sync.Mutex
	uploads  map[string]bool // folders of uploaded files
	listener net.Listener    // of the worker API; nil if the local end offers none
}

// accept starts a goroutine for each stream until the connection ends.
func (s *server) accept(ctx context.Context) error {
	for {
		stream, err := s.session.AcceptStreamWithContext(ctx)
		switch {
		case err == nil:
			s.calls.Go(func() { s.answer(ctx, stream) })
		case errors.Is(err, io.EOF), errors.Is(err, yamux.ErrSessionShutdown), ctx.Err() != nil:
			return nil //nolint:nilerr // the connection was closed in the regular way
		default:
			return fmt.Errorf("the connection is lost: %w", err)
		}
	}
}

// answer reads the request of one stream, runs the operation on the local provider, and writes the answer.
func (s *server) answer(ctx context.Context, stream *yamux.Stream) {
	defer abort(stream) // the answer was written, or the caller has disconnected
	in := bufio.NewReader(stream)
	var r request
	if err := readLine(in, &r); err != nil {
		return
	}
	switch r.Op {
	case opUpload:
		body, err := s.upload(in)
		reply(stream, body, err)
		return
	case opTerminal:
		s.terminal(ctx, stream, in, r)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	reader.Go(func() {
		_, _ = in.ReadByte() // returns when the caller closes its side
		if r.Op == opFetch {
			_ = stream.SetWriteDeadline(time.Unix(1, 0)) // never fails; makes further writes fail
		} else {
			limitWrites(stream)
		}
		cancel()
	})
	switch r.Op {
	case opWatch:
		s.watch(ctx, stream)
	case opFetch:
		s.fetch(ctx, stream, r)
	default:
		body, err := s.call(ctx, r)
		reply(stream, body, err)
	}
	abort(stream) // unblocks the goroutine above
	cancel()
	reader.Wait()
}

// call runs an operation of the table on the local provider.
func (s *server) call(ctx context.Context, r request) (body any, err error) {
	op, ok := operations()[r.Op]
	if !ok {
		return nil, fmt.Errorf("unknown operation %q: %w", r.Op, errors.ErrUnsupported)
	}
	if op.uninterruptible {
		ctx = context.WithoutCancel(ctx)
	}
	return op.run(ctx, s, r)
}

// limitWrites sets a deadline for writes to a caller that has closed its side: it may have stopped reading, and then a write
// would block for ever.
func limitWrites(stream *yamux.Stream) {
	_ = stream.SetWriteDeadline(time.Now().Add(launchGrace)) // never fails
}

// reply writes the answer of a call: the result, the error, or both.
func reply(stream io.Writer, body any, err error) {
	a := answer{Err: packError(err)}
	if body != nil {
		raw, encodeErr := encodeBody(body)
		if encodeErr != nil && a.Err == nil {
			a.Err = packError(encodeErr)
		}
		a.Body = raw
	}
	if err := writeLine(stream, a); err != nil { // the answer cannot be encoded, or the caller has disconnected
		_ = writeLine(stream, answer{Err: &failure{Text: "the answer cannot be sent: " + strings.ToValidUTF8(err.Error(), "?")}})
	}
}

// watch writes the provider's events until ctx ends.
func (s *server) watch(ctx context.Context, stream *yamux.Stream) {
	events, err := runtime.Watch(ctx, s.provider)
	if err != nil {
		reply(stream, nil, err)
		return
	}
	for e := range events {
		reply(stream, e, nil)
	}
}

// handleHello checks the protocol version of the local end and creates the socket of the worker API if the local end offers
// one.
func (s *server) handleHello(ctx context.Context, h hello) (helloReply, error) {
	g := helloReply{Protocol: Protocol, Version: s.opts.Version, Program: s.opts.Program}
	if h.Protocol != Protocol {
		return g, fmt.Errorf("the outpost uses protocol version %d, the caller version %d: let gc install its own program there", Protocol, h.Protocol)
	}
	if !h.Worker {
		return g, nil
	}
	path := cmp.Or(s.opts.Socket, filepath.Join(s.opts.Dir, workerSocket))
	if err := s.listenWorker(ctx, path); err != nil {
		return g, err
	}
	g.Worker = path
	return g, nil
}
