package httpkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// grace is how long a stopping service waits for its handlers.
	grace = 5 * time.Second

	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	maxHeader  = 16 << 10
)

// Service serves HTTP on a local listener.
type Service struct {
	Name    string // for errors: "control socket"
	Handler http.Handler
	Log     *slog.Logger
	// Connect returns the context of a new connection. It may be nil.
	Connect func(ctx context.Context, conn net.Conn) context.Context
}

// Lifetime is one call of [Service.Run], as its handlers use it. It is in the context of each
// request.
type Lifetime struct {
	closing, ended context.Context //nolint:containedctx // the life of the service, not of a request
}

type lifetimeKey struct{}

// LifetimeOf returns the Lifetime of the service that serves a request. Without a service it
// returns one that never ends.
func LifetimeOf(ctx context.Context) *Lifetime {
	if own, ok := ctx.Value(lifetimeKey{}).(*Lifetime); ok {
		return own
	}
	forever := context.WithoutCancel(ctx)
	return &Lifetime{forever, forever}
}

// OnClosing makes the service call f when it begins to stop, so that long answers can end. The
// returned function cancels that.
func (l *Lifetime) OnClosing(f func()) (stop func() bool) { return context.AfterFunc(l.closing, f) }

// OnEnd makes the service call f when the grace period for handlers is over. The returned function
// cancels that.
func (l *Lifetime) OnEnd(f func()) (stop func() bool) { return context.AfterFunc(l.ended, f) }

// Run serves on l until ctx ends, then waits up to 5 s for handlers, and returns nil when all have
// finished. It closes l. It may be called for several listeners at once.
func (s Service) Run(ctx context.Context, l net.Listener) error {
	closing, startClosing := context.WithCancel(context.WithoutCancel(ctx))
	defer startClosing()
	hard, endHard := context.WithCancel(context.WithoutCancel(ctx))
	defer endHard()
	base := context.WithValue(hard, lifetimeKey{}, &Lifetime{closing, hard})
	server := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		// The handler answers every request, because it checks every request.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return base },
		ConnContext:                  s.Connect,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("the %s failed: %w", s.Name, err)
	case <-ctx.Done():
	}
	startClosing()
	waiting, cancel := context.WithTimeout(hard, grace)
	defer cancel()
	err := server.Shutdown(waiting)
	if errors.Is(err, context.DeadlineExceeded) {
		endHard()
		err = server.Close()
	}
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	if err != nil {
		return fmt.Errorf("cannot stop the %s: %w", s.Name, err)
	}
	return nil
}
