package unixhttp

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

// Service is HTTP on a listener of this machine.
type Service struct {
	Name    string // for errors: "control socket"
	Handler http.Handler
	Log     *slog.Logger
	// Connect adds to the context of a connection. It may be nil.
	Connect func(ctx context.Context, conn net.Conn) context.Context
}

// Lifetime is one run of a service, as its handlers see it: the context of a request has it.
type Lifetime struct {
	closing, ended context.Context //nolint:containedctx // the life of the service, not of a request
}

type lifetimeKey struct{}

// LifetimeOf returns the run of the service that serves a request, one that never ends where
// there is none.
func LifetimeOf(ctx context.Context) *Lifetime {
	if own, ok := ctx.Value(lifetimeKey{}).(*Lifetime); ok {
		return own
	}
	forever := context.WithoutCancel(ctx)
	return &Lifetime{forever, forever}
}

// OnClosing calls f when long answers have to end. The result takes that back.
func (l *Lifetime) OnClosing(f func()) (stop func() bool) { return context.AfterFunc(l.closing, f) }

// OnEnd calls f when everything has to end.
func (l *Lifetime) OnEnd(f func()) (stop func() bool) { return context.AfterFunc(l.ended, f) }

// Run serves on l until ctx ends, then lets handlers finish for 5 s, and returns nil when
// all have. It closes l. It may be called for several listeners at once.
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
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       s.Connect,
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
		return fmt.Errorf("cannot end the %s: %w", s.Name, err)
	}
	return nil
}
