package workerapi

import (
	"context"
	"net/http"
	"sync/atomic"

	"gascity/internal/server/unixhttp"
)

// waiting is the context of a handler without a time limit. Most such handlers do not wait, so it
// registers with the server only at the first call of Done or Err. It is valid until its handler
// returns.
type waiting struct {
	context.Context //nolint:containedctx // the context of the request

	bound atomic.Pointer[bounds]
}

type bounds struct {
	context.Context //nolint:containedctx // as above

	end func()
}

// boundsOf returns a context that ends with a request and with its server.
func boundsOf(ctx context.Context) *bounds {
	inner, cancel := context.WithCancelCause(ctx)
	unhook := unixhttp.LifetimeOf(ctx).OnClosing(func() { cancel(errEnding) })
	return &bounds{inner, func() { unhook(); cancel(nil) }}
}

// getBounds returns the bounds of the context, and creates them at the first call.
func (w *waiting) getBounds() *bounds {
	if known := w.bound.Load(); known != nil {
		return known
	}
	own := boundsOf(w.Context)
	if w.bound.CompareAndSwap(nil, own) {
		return own
	}
	own.end() // another goroutine has stored its bounds first
	return w.bound.Load()
}

// Done implements [context.Context].
func (w *waiting) Done() <-chan struct{} { return w.getBounds().Done() }

// Err implements [context.Context].
func (w *waiting) Err() error { return w.getBounds().Err() }

// Value implements [context.Context].
func (w *waiting) Value(key any) any {
	if known := w.bound.Load(); known != nil {
		return known.Value(key)
	}
	return w.Context.Value(key)
}

// finish releases the bounds. It is called when the handler has returned.
func (w *waiting) finish() {
	if known := w.bound.Load(); known != nil {
		known.end()
	}
}

// bound returns the context of a handler. It ends with the connection, with the server, and after
// the time limit of the route.
func (s *Server) bound(r *http.Request, row route) (context.Context, context.CancelFunc) {
	if row.limit == always {
		w := &waiting{Context: r.Context()}
		return w, w.finish
	}
	b := boundsOf(r.Context())
	limited, stop := context.WithTimeout(b, row.limit)
	return limited, func() { stop(); b.end() }
}
