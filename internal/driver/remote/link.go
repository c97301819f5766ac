package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"gascity/runtime"
)

// Options are what a driver brings to reach its outpost.
type Options struct {
	// Where names the place in errors: "host alpha".
	Where string
	// Dial connects to a new far end, whose program runs [Serve]. It is called again
	// after the connection was lost, never twice at once. All calls that need the
	// connection wait for it and share its error; one that is given up does not end it.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)
	// Connect bounds Dial and the greeting. Zero means 2 minutes.
	Connect time.Duration
	// Worker connects to the city's worker API on this machine. Nil: agents over there
	// have none. Socket is the path of its socket as agents of this machine receive
	// it.
	Worker func(ctx context.Context) (net.Conn, error)
	Socket string
	// Attach connects the caller's terminal. Nil: there is no way.
	Attach func(ctx context.Context, name string, opts runtime.AttachOptions) error
	// Capabilities are those of the far driver.
	Capabilities runtime.ProviderCapabilities
	// Ask bounds the calls of the contract that have no context, Act those that change
	// something. Zero means 15 seconds and 2 minutes.
	Ask, Act time.Duration
}

// link is the near end of the connection: made when it is needed, again after it was lost.
type link struct {
	opts   Options
	ctx    context.Context //nolint:containedctx // of the provider, for the calls that have none
	cancel context.CancelFunc
	work   sync.WaitGroup // the goroutines of connections

	uploadSlots chan struct{} // holds a token for each upload that is under way

	mu      sync.Mutex
	session *yamux.Session // nil before the first dial
	reply   helloReply
	attempt *attempt // under way, else nil
	failed  error    // of the last attempt
	closed  bool
}

// attempt is one dial, for which everybody waits.
type attempt struct {
	done    chan struct{}
	session *yamux.Session // with err, once done is closed
	err     error
}

const (
	defaultConnect = 2 * time.Minute
	// maxUploads keeps what waits on its way to a far end over a slow link below what
	// the keep-alive stands.
	maxUploads = 4
)

func newLink(opts Options) *link {
	if opts.Connect <= 0 {
		opts.Connect = defaultConnect
	}
	life, end := context.WithCancel(context.Background()) //nolint:forbidigo // ends with close
	return &link{opts: opts, ctx: life, cancel: end, uploadSlots: make(chan struct{}, maxUploads)}
}

// errClosed is the answer of a provider that was closed.
var errClosed = errors.New("it was closed")

// connected returns the connection, a new one if there is none.
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
			err = fmt.Errorf("%w; the last time: %w", err, before)
		}
		return nil, l.newUnreachable(err)
	}
}

// dialOnce dials once, and notifies all who wait.
func (l *link) dialOnce(a *attempt) {
	session, far, err := l.dial()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.closed {
		session.Close() //nolint:errcheck // it is not in use
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
	far, err := sendHello(ctx, session, l.opts.Worker != nil)
	if err != nil {
		session.Close() //nolint:errcheck // the reason is known
		return nil, helloReply{}, err
	}
	return session, far, nil
}

// sendHello proves that the far end is an outpost of the same protocol.
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

// unreachableError says that the connection could not be made: nothing was asked.
type unreachableError struct {
	where string
	cause error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("%s cannot be reached: %v", e.where, e.cause)
}

func (e *unreachableError) Unwrap() []error { return []error{runtime.ErrRuntimeUnavailable, e.cause} }

func (l *link) newUnreachable(cause error) error { return &unreachableError{l.opts.Where, cause} }

// lostError is the error of a call whose answer did not come.
func (l *link) lostError(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: the connection to %s was lost: %w", runtime.ErrRuntimeUnavailable, l.opts.Where, cause)
}

// actionGrace is how long a call that was given up waits for the far end's last word, so
// that nothing is under way there when it returns; of a launch it is what taking it back
// may last. A look changes nothing and waits for nothing.
const (
	queryGrace  = 0
	actionGrace = 5 * time.Second
	launchGrace = 45 * time.Second
)

// ask makes one call. An error of the far end comes as it was there, together with the rest
// of its answer.
func ask[Out any](ctx context.Context, l *link, op, name string, body any) (Out, error) {
	return askFor[Out](ctx, l, call{op, name, body, actionGrace})
}

// call is a request and how long its last word is waited for.
type call struct {
	op, name string
	body     any
	grace    time.Duration
}

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
		stream.Close()                                      //nolint:errcheck // of the writing side: a goodbye
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

// withCause adds why the caller gave a call up, which the far end cannot know.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}

// callContext returns a context for calls of the contract that have none.
func (l *link) callContext(limit, usual time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		limit = usual
	}
	return context.WithTimeout(l.ctx, limit)
}

// close ends the connection; the far end lives on without it.
func (l *link) close() {
	l.cancel()
	l.mu.Lock()
	l.closed = true
	session := l.session
	l.mu.Unlock()
	if session != nil {
		session.Close() //nolint:errcheck // it is gone either way
	}
	l.work.Wait()
}
