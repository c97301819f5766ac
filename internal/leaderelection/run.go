package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ErrConflict is the answer of a [Store] that has another version by now.
var ErrConflict = errors.New("the lease is another one by now")

// ErrLost reports that somebody else may have the lease. The holder that gets it ends its
// process at once: its work may not have ended.
var ErrLost = errors.New("the lease was lost")

// Store keeps one record for all candidates.
type Store interface {
	// Get returns the record, without a version if there is none.
	Get(ctx context.Context) (Record, error)
	// Put replaces the record of the same version, or makes it if that is empty, and
	// returns it with its new version. An error matching [ErrConflict] says that another
	// one is there; any other that the result is unknown.
	Put(ctx context.Context, r Record) (Record, error)
}

// Options are what a candidate is made of. All are required.
type Options struct {
	Name   string // unique for ever
	Terms  Terms
	Store  Store
	Logger *slog.Logger
}

// Run waits for the lease and calls lead with it, whose context ends with the lease.
// It returns what lead does, after the lease was given away; an error matching [ErrLost]
// if it was lost, also while lead still runs; and nil if ctx ended before there was one.
func Run(ctx context.Context, opts Options, lead func(ctx context.Context) error) error {
	c := &candidate{Options: opts, elector: NewElector(opts.Name, opts.Terms)}
	if !c.campaign(ctx) {
		return nil
	}
	opts.Logger.Info("the lease is held", "name", opts.Name)
	leading, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan error, 1)
	go func() { done <- lead(leading) }() // waited for, unless the process ends: see ErrLost
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
		return fmt.Errorf("%w, and the work with it did not end in time", ErrLost)
	}
}

// candidate is one process that wants the lease.
type candidate struct {
	Options

	elector *Elector
}

// campaign waits for the lease, and reports whether it came before ctx ended.
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
		if !pause(ctx, c.Terms.Retry) {
			return false
		}
	}
}

// renew renews the lease until lead is done, whose error it returns, or the lease is lost.
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
			c.Logger.Warn("the lease could not be renewed", "name", c.Name, "error", err)
			next = c.Terms.Retry
		}
		due.Reset(max(0, min(next, time.Until(c.elector.ValidUntil()))))
	}
	return nil, false
}

// claim looks at the lease and writes it, if it may be had. Nothing is begun after the end.
func (c *candidate) claim(ctx context.Context, end time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	if !isValid(c.elector.ValidUntil()) { // else what was written last is known, and a conflict shows it
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
	if now, getErr := c.Store.Get(ctx); getErr == nil { // it may have been written all the same
		c.elector.See(now, time.Now())
	}
	return err
}

// release gives the lease away, so that no candidate has to wait for its end.
func (c *candidate) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Terms.Retry)
	defer cancel()
	if _, err := c.Store.Put(ctx, c.elector.Release()); err != nil {
		c.Logger.Warn("the lease could not be given away", "name", c.Name, "error", err)
	}
}

func isValid(until time.Time) bool { return time.Now().Before(until) }

// pause reports whether it was not cut short by the end of ctx.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
