package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/retry"
)

// The rates of the listener. They must not be changed.
var (
	readRate    = retry.Rate{Burst: 400, Every: 10 * time.Millisecond}  // requests of a device that change nothing
	changeRate  = retry.Rate{Burst: 60, Every: 200 * time.Millisecond}  // requests of a device that change something
	deviceRate  = retry.Rate{Burst: 800, Every: 5 * time.Millisecond}   // requests of a device, also those to paths that do not exist
	pageRate    = retry.Rate{Burst: 400, Every: 10 * time.Millisecond}  // requests with the cookie of a device, but without its key: files of the page, and terminals
	connRate    = retry.Rate{Burst: 60, Every: 50 * time.Millisecond}   // requests of a connection without a device
	othersRate  = retry.Rate{Burst: 2000, Every: time.Millisecond}      // requests of all connections without a device
	wrongCodes  = retry.Rate{Burst: 20, Every: 3 * time.Second}         // wrong codes, all together
	refusedLogs = retry.Rate{Burst: 100, Every: 500 * time.Millisecond} // lines of the log about refused requests
)

// errTooFast refuses a request beyond the rate of those that prove no device.
var errTooFast = fmt.Errorf("%w: too many requests without a sign-in; try again in a second", client.ErrTooMany)

// admit counts a request before anything is read or answered. Requests of a device count for the
// device. The others have rates of their own, so that a program that sends many requests costs
// little and does not stop requests of signed-in devices. A sign-in and an answer button count for
// their connection alone: other connections cannot stop them.
func (c *console) admit(r *http.Request) error {
	now := c.server.opts.Now()
	cookies := c.cookies(r)
	if len(cookies) > 0 {
		if known, err := c.server.devices.admit(proof{cookies, keyOf(r)}, now); known {
			return err
		}
	}
	if own, ok := r.Context().Value(connKey{}).(*conn); ok && !own.allow(now) {
		return errTooFast
	}
	if r.URL.Path == signInPath || provesItself(r) {
		return nil
	}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.others.Allow(othersRate, now) {
		return errTooFast
	}
	return nil
}

// admit reports whether a request has the cookie of a device, and counts it: other programs have the
// cookie too, so requests without the key do not use up those of the device. The error is that of a
// request beyond the rate.
func (r *registry) admit(p proof, now time.Time) (known bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.findLocked(func(d *device) bool { return d.has(p.cookies) })
	if d == nil {
		return false, nil
	}
	switch proved := p.key != "" && len(p.key) <= maxSecret && d.key.equal(digestOf(p.key)); {
	case proved && !d.all.Allow(deviceRate, now):
		return true, errDeviceTooFast
	case !proved && !d.pages.Allow(pageRate, now):
		return true, errTooFast
	}
	return true, nil
}

// allow counts a request of a connection.
func (c *conn) allow(now time.Time) bool {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	return c.requests.Allow(connRate, now)
}

// limitedHandler is a log handler that leaves out lines, except errors, beyond a rate: a program
// that sends bad requests must not fill the log.
type limitedHandler struct {
	slog.Handler
	now   func() time.Time
	state *limitedState
}

// limitedState is what the handlers of one log share.
type limitedState struct {
	mu  sync.Mutex
	log retry.Bucket // guarded by mu
}

// newLimitedLog returns a log that writes to l.
func newLimitedLog(l *slog.Logger, now func() time.Time) *slog.Logger {
	return slog.New(limitedHandler{l.Handler(), now, &limitedState{}})
}

// Handle implements [slog.Handler].
func (h limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		h.state.mu.Lock()
		ok := h.state.log.Allow(refusedLogs, h.now())
		h.state.mu.Unlock()
		if !ok {
			return nil
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h limitedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limitedHandler{h.Handler.WithAttrs(attrs), h.now, h.state}
}

// WithGroup implements [slog.Handler].
func (h limitedHandler) WithGroup(name string) slog.Handler {
	return limitedHandler{h.Handler.WithGroup(name), h.now, h.state}
}
