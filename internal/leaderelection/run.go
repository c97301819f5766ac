package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gascity/internal/retry"
)

// ErrConflict is the error of a [Store] whose record has another version.
var ErrConflict = errors.New("another process has changed the lease")

// ErrLost reports that another candidate may hold the lease. A holder that gets this error must exit at once, because its work
// may still be running.
var ErrLost = errors.New("the lease was lost")

// Store stores one record for all candidates.
type Store interface {
	// Get returns the record. Its Version is empty if there is none.
	Get(ctx context.Context) (Record, error)
	// Put replaces the record that has the same version, or creates it if r.Version is empty. It returns the record with its
	// new version. An error that matches [ErrConflict] means that the stored version is different. After any other error the
	// result is unknown.
	Put(ctx context.Context, r Record) (Record, error)
}

// Options are the options of [Run]. All are required.
type Options struct {
	Name   string // no other candidate may ever have the same name
	Terms  Terms
	Store  Store
	Logger *slog.Logger
}

// Run waits until it has acquired the lease, then calls lead. The context of lead ends when the lease is lost. Run returns the
// error of lead after it has released the lease. If the lease was lost, the error matches [ErrLost], and lead may still be
// running. If ctx ends before the lease was acquired, Run returns nil.
func Run(ctx context.Context, opts Options, lead func(ctx context.Context) error) error {
	c := &candidate{Options: opts, elector: NewElector(opts.Name, opts.Terms)}
	if !c.campaign(ctx) {
		return nil
	}
	opts.Logger.Info("acquired the lease", "name", opts.Name)
	leading, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan error, 1)
	go func() { done <- lead(leading) }() // waited for below, unless it takes too long: see ErrLost
	if err, over := c.renew(ctx, done); over {
		return err
	}
	end(ErrLost)
	grace := time.NewTimer((opts.Terms.Duration - opts.Terms.Deadline) / 2)
	defer grace.Stop()
	select {
	case err := <-done:
		return errors.Join(ErrLost, err)
	case <-grace.C:
		return fmt.Errorf("%w and the work of its holder did not stop in time", ErrLost)
	}
}

// candidate is one process that competes for the lease.
type candidate struct {
	Options

	elector *Elector
}

// campaign waits for the lease. It reports whether it was acquired before ctx ended.
func (c *candidate) campaign(ctx context.Context) bool {
	for told := ""; ; {
		err := c.claim(ctx, time.Now().Add(c.Terms.Deadline))
		if isValid(c.elector.ValidUntil()) {
			return true
		}
		if why := fmt.Sprint(err); why != told && ctx.Err() == nil {
			told = why
			c.Logger.Info("waiting for the lease", "name", c.Name, "held by", c.elector.seen.Holder, "error", err)
		}
		if !retry.Sleep(ctx, c.Terms.Retry) {
			return false
		}
	}
}

// renew renews the lease until lead has returned or the lease is lost. over reports that lead has returned; err is its error.
func (c *candidate) renew(ctx context.Context, done <-chan error) (err error, over bool) {
	due := time.NewTimer(c.Terms.Renew)
	defer due.Stop()
	for isValid(c.elector.ValidUntil()) {
		select {
		case err = <-done:
			c.release(ctx)
			return err, true
		case <-due.C:
		}
		next := c.Terms.Renew
		if err := c.claim(context.WithoutCancel(ctx), c.elector.ValidUntil()); err != nil {
			c.Logger.Warn("cannot renew the lease", "name", c.Name, "error", err)
			next = c.Terms.Retry
		}
		due.Reset(max(0, min(next, time.Until(c.elector.ValidUntil()))))
	}
	return nil, false
}

// claim reads the record and writes it if this candidate may hold the lease. It starts no request after the time end.
func (c *candidate) claim(ctx context.Context, end time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	if !isValid(c.elector.ValidUntil()) { // a holder needs no read: a conflict of the write shows a change
		r, err := c.Store.Get(ctx)
		if err != nil {
			return err
		}
		c.elector.See(r, time.Now())
	}
	sent := time.Now()
	r, may := c.elector.Claim(sent)
	if !may {
		return nil
	}
	written, err := c.Store.Put(ctx, r)
	if err == nil {
		c.elector.Granted(written, sent)
		return nil
	}
	if now, getErr := c.Store.Get(ctx); getErr == nil { // the write may have succeeded in spite of the error
		c.elector.See(now, time.Now())
	}
	return err
}

// release releases the lease, so that the next candidate does not have to wait for it to expire.
func (c *candidate) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Terms.Retry)
	defer cancel()
	if _, err := c.Store.Put(ctx, c.elector.Release()); err != nil {
		c.Logger.Warn("cannot release the lease", "name", c.Name, "error", err)
	}
}

func isValid(until time.Time) bool { return time.Now().Before(until) }
