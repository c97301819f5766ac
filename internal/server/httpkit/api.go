package httpkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"runtime/debug"
	"sync"
	"time"

	"gascity/internal/httpwire"
	"gascity/internal/proc"
	"gascity/internal/redact"
)

// AnswerTime is how long a reader may take to receive an answer.
const AnswerTime = time.Minute

// Options are the options of a server. The zero value is valid.
type Options struct {
	// Version is the version of gc, for the APIs that send it with each answer. Empty means
	// "unknown".
	Version string
	// Log receives refused requests and errors, but no tokens and no bodies. Nil discards them.
	Log *slog.Logger
	// Heartbeat is how often a comment is sent on a stream without events. Zero means 15 s.
	Heartbeat time.Duration
	// Stall is how long one write to a stream may wait for its reader. Zero means 10 s.
	Stall time.Duration
	// PeerUID returns the user and the process at the other end of a Unix connection. Nil means the
	// kernel's answer.
	PeerUID func(*net.UnixConn) (uid, pid int, err error)
	// LoopbackUID returns the user of a TCP connection with the given addresses. Nil means the
	// kernel's answer.
	LoopbackUID func(local, remote netip.AddrPort) (uid int, err error)
	// Secrets masks secrets in answers. Nil masks only the tokens of gc.
	Secrets *redact.Redactor
}

// API is the part of a server that all of gc's HTTP APIs have in common. Its fields do not change
// after [New]. Its methods are safe for concurrent use.
type API struct {
	Options

	Name    string                       // of the listener, in errors and in the log: "control socket"
	Service string                       // what serves the API, in errors: "controller"
	Problem func(error) httpwire.Problem // returns the problem document of an error

	// Errors of the API.
	Forbidden, NotFound error
	// Ending is the error of a request that waits when the service stops.
	Ending error

	// Challenge is the header WWW-Authenticate of an answer with status 401. Empty means "Bearer".
	Challenge string

	// SendBuffer is the size of the system's send buffer in bytes; zero means the system's default. The
	// system reports progress only when a large part of the buffer is sent, so a large buffer hides a
	// slow reader.
	SendBuffer int

	owner int
}

// New returns the API with its missing options set.
func New(a API) *API {
	a.owner = os.Getuid()
	a.Version, a.Log = cmp.Or(a.Version, "unknown"), cmp.Or(a.Log, slog.New(slog.DiscardHandler))
	a.Heartbeat, a.Stall = cmp.Or(max(a.Heartbeat, 0), httpwire.Heartbeat), cmp.Or(max(a.Stall, 0), httpwire.MaxStall)
	if a.PeerUID == nil {
		a.PeerUID = proc.PeerUID
	}
	if a.LoopbackUID == nil {
		a.LoopbackUID = proc.LoopbackUID
	}
	return &a
}

// Run serves a handler on l, a Unix or a loopback TCP listener, until ctx ends, see [Service.Run].
func (a *API) Run(ctx context.Context, l net.Listener, h http.Handler) error {
	return Service{Name: a.Name, Handler: h, Log: a.Log, Connect: a.connect}.Run(ctx, l)
}

// Values of answer headers. They must not be changed.
var (
	noStore = []string{"no-store"}
	noSniff = []string{"nosniff"}
)

// Handler returns a handler that calls routes after it has set common headers and made the checks.
// It refuses a request if one of the checks returns an error, and answers with a problem document
// if routes panics.
func (a *API) Handler(routes http.Handler, checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Cache-Control"], h["X-Content-Type-Options"] = noStore, noSniff
		defer a.recover(w, r)
		if r.Header.Get("Expect") != "" && SetDeadline(w, AnswerTime) != nil { // net/http answers this header before the handler writes
			return // the connection is gone
		}
		for _, check := range checks {
			if err := check(r); err != nil {
				a.Refuse(w, r, err)
				return
			}
		}
		if r.URL.Path != path.Clean(r.URL.Path) { // a mux would answer with a redirect
			a.RefusePath(w, r)
			return
		}
		routes.ServeHTTP(w, r)
	})
}

// recover handles a panic in the handler of a request: it answers with an error, so that one bad
// request does not stop the controller.
func (a *API) recover(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
		panic(cause)
	}
	a.Log.Error("a handler of the "+a.Name+" panicked", "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
	a.WriteProblem(w, fmt.Errorf("the %s has a defect in %s %s, its log has the details: %v", a.Service, r.Method, r.URL.Path, cause))
}

// RefusePath answers that a path does not exist.
func (a *API) RefusePath(w http.ResponseWriter, r *http.Request) {
	a.Refuse(w, r, fmt.Errorf("%w: there is no route for %.200s %.200q, see /openapi.json", a.NotFound, r.Method, r.URL.Path))
}

// Refuse answers a request with the error err, as a problem document, and logs it with at most 200
// characters of the path.
func (a *API) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	attrs := []any{"method", fmt.Sprintf("%.200s", r.Method), "path", fmt.Sprintf("%.200s", r.URL.Path), "code", a.Problem(err).Code, "error", err}
	if who, ok := PeerOf(r.Context()); ok && who.Err == nil {
		attrs = append(attrs, "uid", who.UID, "pid", who.PID)
	}
	a.Log.Warn("a request on the "+a.Name+" was refused", attrs...)
	a.WriteProblem(w, err)
}

// WriteProblem answers with the problem document of err, with secrets masked.
func (a *API) WriteProblem(w http.ResponseWriter, err error) {
	p := a.Problem(err)
	text, err := a.Secrets.Encode(p)
	if err != nil || SetDeadline(w, AnswerTime) != nil {
		return // the connection is gone: texts and numbers can always be encoded
	}
	w.Header().Set("Content-Type", httpwire.ProblemType)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", cmp.Or(a.Challenge, "Bearer"))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(text) // an error means that the reader is gone
}

// SetDeadline sets the time within which the reader must receive the answer.
func SetDeadline(w http.ResponseWriter, within time.Duration) error {
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(within))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Bound returns the context of a handler. It ends when the request ends, when the service begins to
// stop (its cause is then a.Ending), and after the limit; zero is no limit. The handler must call
// the cancel function at its end.
func (a *API) Bound(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		b := &boundContext{Context: parent, api: a}
		return b, b.finish
	}
	ctx, end := a.untilClosing(parent)
	ctx, stop := context.WithTimeout(ctx, limit)
	return ctx, func() { stop(); end() }
}

// untilClosing returns a context that ends when its parent ends or the service begins to stop.
func (a *API) untilClosing(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	unhook := LifetimeOf(parent).OnClosing(func() { cancel(a.Ending) })
	return ctx, func() { unhook(); cancel(nil) }
}

// boundContext is the context of a handler without a limit. Such a handler often answers at once, so
// the context is connected with the service only when it is used.
type boundContext struct {
	context.Context //nolint:containedctx // the context of the request

	api  *API
	once sync.Once
	used context.Context //nolint:containedctx // what the methods answer from
	end  context.CancelFunc
}

// use returns the context that also ends when the service begins to stop. It is created at the
// first use.
func (b *boundContext) use() context.Context {
	b.once.Do(func() { b.used, b.end = b.api.untilClosing(b.Context) })
	return b.used
}

// finish ends the context when the handler has returned.
func (b *boundContext) finish() {
	b.once.Do(func() { b.used, b.end = b.Context, func() {} }) // the context of the request ends with its handler
	b.end()
}

// Done returns a channel that is closed when the context ends. It implements [context.Context].
func (b *boundContext) Done() <-chan struct{} { return b.use().Done() }

// Err returns why the context has ended; nil if it has not. It implements [context.Context].
func (b *boundContext) Err() error { return b.use().Err() }

// Value returns the value for the key in the context of the request. It implements
// [context.Context].
func (b *boundContext) Value(key any) any { return b.use().Value(key) }

// Detached returns a context for work that continues when the caller disconnects. It ends after the
// limit, and when the service has stopped and its grace period is over.
func Detached(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), limit)
	unhook := LifetimeOf(parent).OnEnd(cancel)
	return ctx, func() { unhook(); cancel() }
}

// ErrorOf returns a.Ending if the context ended because the service stops, otherwise err.
func (a *API) ErrorOf(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), a.Ending) {
		return a.Ending
	}
	return err
}
