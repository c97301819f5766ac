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

// ServeOptions are the surroundings of the far end.
type ServeOptions struct {
	// Dir is a private folder of the outpost: what was carried over until it is used, and
	// the worker API's socket. It is made if it is not there.
	Dir string
	// Socket is where the worker API is reached over there. Empty: in Dir. Its folder is
	// private, and its path is shorter than that of a socket may be by 8 bytes.
	Socket string
	// Version is sent to the near end.
	Version string
	// Remove removes all that the outpost has over there; no session is left then. Nil: it stays.
	Remove func() error
}

// workerSocket is the name of the worker API's socket in the outpost's folder.
const workerSocket = "worker.sock"

// Serve answers the calls that come over conn with p, until the near end closes it or ctx
// ends; then it closes conn. Calls that end or interrupt something are brought to their
// end even so; all others are cancelled. It returns when the last one has ended, and nil
// if the near end said goodbye.
func Serve(ctx context.Context, p runtime.Provider, conn io.ReadWriteCloser, opts ServeOptions) error {
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return fmt.Errorf("the outpost has no folder: %w", err)
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
		session.Close() //nolint:errcheck // no receiver is left
	})
	err = s.accept(ctx)
	cancel()
	closing.Wait()
	s.calls.Wait()
	s.discardAll()
	return err
}

// server is the far end of one connection.
type server struct {
	provider runtime.Provider
	opts     ServeOptions
	session  *yamux.Session
	calls    sync.WaitGroup

	mu       sync.Mutex
	uploads  map[string]bool // folders
	listener net.Listener    // of the worker API, nil if the near end takes no connections
}

func (s *server) accept(ctx context.Context) error {
	for {
		stream, err := s.session.AcceptStreamWithContext(ctx)
		switch {
		case err == nil:
			s.calls.Go(func() { s.answer(ctx, stream) })
		case errors.Is(err, io.EOF), errors.Is(err, yamux.ErrSessionShutdown), ctx.Err() != nil:
			return nil //nolint:nilerr // this is how a connection ends
		default:
			return fmt.Errorf("the connection is lost: %w", err)
		}
	}
}

// answer serves one stream.
func (s *server) answer(ctx context.Context, stream *yamux.Stream) {
	defer abort(stream) // the answer was written, or has no reader
	in := bufio.NewReader(stream)
	var r request
	if err := readLine(in, &r); err != nil {
		return
	}
	switch r.Op {
	case opWatch:
		s.watch(ctx, stream)
		return
	case opUpload:
		body, err := s.upload(in)
		reply(stream, body, err)
		return
	case opFetch:
		s.fetch(ctx, stream, in, r)
		return
	}
	op, ok := operations()[r.Op]
	if !ok {
		reply(stream, nil, fmt.Errorf("unknown operation %q: %w", r.Op, errors.ErrUnsupported))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		_, _ = in.ReadByte() // the caller writes nothing more: this is its goodbye
		farewell(stream)
		cancel()
	})
	if op.uninterruptible {
		ctx = context.WithoutCancel(ctx)
	}
	body, err := op.run(ctx, s, r)
	reply(stream, body, err)
	abort(stream) // ends the wait for a goodbye
	cancel()
	watching.Wait()
}

// farewell bounds what is written to a caller that has said goodbye: it may not read any
// more, and then nothing would ever make room.
func farewell(stream *yamux.Stream) {
	_ = stream.SetWriteDeadline(time.Now().Add(launchGrace)) // never fails
}

func reply(stream io.Writer, body any, err error) {
	a := answer{Err: packError(err)}
	if body != nil {
		raw, encodeErr := encodeBody(body)
		if encodeErr != nil && a.Err == nil {
			a.Err = packError(encodeErr)
		}
		a.Body = raw
	}
	if err := writeLine(stream, a); err != nil { // it cannot be encoded, or has no reader
		_ = writeLine(stream, answer{Err: &failure{Text: "the answer cannot be sent: " + strings.ToValidUTF8(err.Error(), "?")}})
	}
}

// watch writes the provider's events until either end closes.
func (s *server) watch(ctx context.Context, stream *yamux.Stream) {
	ctx, cancel := context.WithCancel(ctx)
	events, err := runtime.Watch(ctx, s.provider)
	if err != nil {
		cancel()
		reply(stream, nil, err)
		return
	}
	var goodbye sync.WaitGroup
	goodbye.Go(func() {
		_, _ = stream.Read(make([]byte, 1))
		farewell(stream)
		cancel()
	})
	for e := range events {
		raw, err := encodeBody(e)
		if err == nil {
			err = writeLine(stream, answer{Body: raw})
		}
		if err != nil {
			cancel() // and the channel is closed
		}
	}
	cancel()
	abort(stream) // ends the wait for a goodbye
	goodbye.Wait()
}

// handleHello returns the first operation of a connection.
func (s *server) handleHello(ctx context.Context, h hello) (helloReply, error) {
	g := helloReply{Protocol: Protocol, Version: s.opts.Version}
	if h.Protocol != Protocol {
		return g, fmt.Errorf("the outpost speaks protocol %d, the caller %d: let gc install its own program there", Protocol, h.Protocol)
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
