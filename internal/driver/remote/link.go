package remote

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sync/semaphore"

	"gascity/runtime"
)

// Options are the options of [Open].
type Options struct {
	// Where names the remote machine in errors, for example "host alpha".
	Where string
	// Dial connects to a new remote process that runs [Serve]. It is called again after the connection was lost, but never
	// twice at the same time. All calls that need the connection wait for Dial and get its error. A caller that stops waiting
	// does not stop Dial.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
	// Connect bounds the time of Dial and the hello request together. Zero means 2 minutes.
	Connect time.Duration
	// Socket is the path of the socket of the city's worker API on this machine. Empty means that remote agents have no worker
	// API.
	Socket string
	// Attach connects the caller's terminal to a session. Nil means that attaching is not supported.
	Attach func(ctx context.Context, name string, opts runtime.AttachOptions) error
	// Capabilities are those of the remote driver.
	Capabilities runtime.ProviderCapabilities
}

// link is the local end of the connection. It connects when a call needs it, and again after the connection was lost.
type link struct {
	opts   Options
	ctx    context.Context //nolint:containedctx // ends with Close; for calls without a context
	cancel context.CancelFunc
	work   sync.WaitGroup // goroutines of connections

	uploads *semaphore.Weighted // at most maxUploads run

	mu      sync.Mutex
	session *yamux.Session // nil before the first dial
	reply   helloReply
	attempt *attempt // the dial in progress; nil if there is none
	failed  error    // error of the last dial
	closed  bool
}

// attempt is one dial. All callers that need a connection wait for it.
type attempt struct {
	done    chan struct{}
	session *yamux.Session // valid, like err, after done is closed
	err     error
}

const (
	defaultConnect = 2 * time.Minute
	// maxUploads bounds parallel uploads. More of them could delay the keep-alive messages of a slow connection until it is
	// considered lost.
	maxUploads = 4
)

// newLink returns a link that is not connected yet; the first call connects it. Options that are not set get their
// defaults.
func newLink(opts Options) *link {
	opts.Connect = cmp.Or(opts.Connect, defaultConnect)
	life, end := context.WithCancel(context.Background()) //nolint:forbidigo // ends with close
	return &link{opts: opts, ctx: life, cancel: end, uploads: semaphore.NewWeighted(maxUploads)}
}

// errClosed is the error of calls after [Provider.Close].
var errClosed = errors.New("the connection was closed")

// connected returns the connection. If there is none, it dials or waits for a dial in progress.
func (l *link) connected(ctx context.Context) (*yamux.Session, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, l.newUnreachable(errClosed)
	}
	if s := l.session; s != nil && !s.IsClosed() {
		l.mu.Unlock()
		return s, nil
	}
	a, before := l.attempt, l.failed
	if a == nil {
		a = &attempt{done: make(chan struct{})}
		l.attempt = a
		l.work.Go(func() { l.dialOnce(a) })
	}
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.session, a.err
	case <-ctx.Done():
		err := context.Cause(ctx)
		if before != nil {
			err = fmt.Errorf("%w; the last attempt failed: %w", err, before)
		}
		return nil, l.newUnreachable(err)
	}
}

// dialOnce makes one attempt to connect, stores the result in a, and wakes all callers that wait for it.
func (l *link) dialOnce(a *attempt) {
	session, far, err := l.dial()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.closed {
		session.Close() //nolint:errcheck // not in use
		err = errClosed
	}
	if l.failed = err; err != nil {
		a.err = l.newUnreachable(err)
	} else {
		a.session, l.session, l.reply = session, session, far
		l.work.Go(func() { l.forward(session) })
	}
	l.attempt = nil
	close(a.done)
}

// dial connects, starts the multiplexer and sends the hello request.
func (l *link) dial() (*yamux.Session, helloReply, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.opts.Connect)
	defer cancel()
	conn, err := l.opts.Dial(ctx)
	if err != nil {
		return nil, helloReply{}, err
	}
	session, err := yamux.Client(conn, settings())
	if err != nil {
		return nil, helloReply{}, errors.Join(err, conn.Close())
	}
	far, err := sendHello(ctx, session, l.opts.Socket != "")
	if err != nil {
		session.Close() //nolint:errcheck // err has the reason
		return nil, helloReply{}, err
	}
	return session, far, nil
}

// sendHello sends the hello request and returns the reply. An outpost (the gc on the remote host) with another protocol version
// refuses it. takesWorkers says that the outpost may forward connections of workers to this side.
func sendHello(ctx context.Context, session *yamux.Session, takesWorkers bool) (helloReply, error) {
	stream, err := session.OpenStream()
	if err != nil {
		return helloReply{}, err
	}
	defer abort(stream)
	stop := context.AfterFunc(ctx, func() { abort(stream) })
	defer stop()
	a, err := exchange(stream, "hello", "", hello{Protocol: Protocol, Worker: takesWorkers})
	if err != nil {
		return helloReply{}, errors.Join(context.Cause(ctx), err)
	}
	if a.Err != nil {
		return helloReply{}, a.Err.unpack()
	}
	return decode[helloReply](a.Body)
}

// exchange sends one request on the stream and reads its answer.
func exchange(stream *yamux.Stream, op, name string, body any) (answer, error) {
	raw, err := encodeBody(body)
	if err != nil {
		return answer{}, err
	}
	if err := writeLine(stream, request{Op: op, Name: name, Body: raw}); err != nil {
		return answer{}, err
	}
	var a answer
	err = readLine(bufio.NewReader(stream), &a)
	return a, err
}

// open opens a stream on the connection.
func (l *link) open(ctx context.Context) (*yamux.Stream, error) {
	session, err := l.connected(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := session.OpenStream()
	if err != nil {
		return nil, l.newUnreachable(err)
	}
	return stream, nil
}

// unreachableError reports that there was no connection, so no request was sent.
type unreachableError struct {
	where string
	cause error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("%s cannot be reached: %v", e.where, e.cause)
}

func (e *unreachableError) Unwrap() []error { return []error{runtime.ErrRuntimeUnavailable, e.cause} }

func (l *link) newUnreachable(cause error) error { return &unreachableError{l.opts.Where, cause} }

// lostError returns the error of a call that got no answer.
func (l *link) lostError(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: the connection to %s was lost: %w", runtime.ErrRuntimeUnavailable, l.opts.Where, cause)
}

// The grace of a call is how long it waits for the remote end's answer after the caller's context has ended. An action waits,
// so that the remote end does no more work for it when it returns. For a start, the grace includes undoing the start. A query
// changes nothing and does not wait.
const (
	queryGrace  = 0
	actionGrace = 5 * time.Second
	launchGrace = 45 * time.Second
)

// ask sends one request to the remote end and returns its answer. If ctx ends, it waits up to actionGrace for the answer.
// If the remote end answers with an error, ask returns the error and the result that came with it.
func ask[Out any](ctx context.Context, l *link, op, name string, body any) (Out, error) {
	return askFor[Out](ctx, l, call{op, name, body, actionGrace})
}

// act is ask for a request without a result.
func act(ctx context.Context, l *link, op, name string, body any) error {
	_, err := ask[empty](ctx, l, op, name, body)
	return err
}

// call is a request to the remote end, with the time that it waits for the answer after the caller's context has ended
// (grace).
type call struct {
	op, name string
	body     any
	grace    time.Duration
}

// askFor makes one call and decodes the result. If ctx ends, it cancels the call and waits at most c.grace for the answer.
func askFor[Out any](ctx context.Context, l *link, c call) (Out, error) {
	var none Out
	fail := func(err error) (Out, error) { return none, &runtime.Error{Op: c.op, Session: c.name, Err: err} }
	if ctx.Err() != nil {
		return fail(context.Cause(ctx))
	}
	stream, err := l.open(ctx)
	if err != nil {
		return fail(err)
	}
	defer abort(stream)
	stop := context.AfterFunc(ctx, func() {
		_ = stream.SetReadDeadline(time.Now().Add(c.grace)) // never fails
		stream.Close()                                      //nolint:errcheck // closes the writing side: the remote end then cancels the call
	})
	defer stop()
	a, err := exchange(stream, c.op, c.name, c.body)
	if err != nil {
		return fail(l.lostError(ctx, err))
	}
	out, err := decode[Out](a.Body)
	switch {
	case a.Err != nil:
		return out, withCause(ctx, a.Err.unpack())
	case err != nil:
		return fail(fmt.Errorf("the answer cannot be read: %w", err))
	}
	return out, nil
}

// withCause adds to err the reason why ctx has ended. The error of the remote end does not have this reason, because a
// context's cause is not sent.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// close closes the connection and waits for its goroutines. The sessions continue.
func (l *link) close() {
	l.cancel()
	l.mu.Lock()
	l.closed = true
	session := l.session
	l.mu.Unlock()
	if session != nil {
		session.Close() //nolint:errcheck // an error does not matter
	}
	l.work.Wait()
}
