package credentials

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"gascity/internal/retry"
	"gascity/internal/service/engine"
	"gascity/worker"
)

// Account is the configuration of one credential.
type Account struct {
	Name   string
	Type   string // "api_key", "oauth" or "token"
	Source Source
	Before time.Duration // how long before it expires the credential is renewed
}

// Options are the dependencies of a broker. All fields are required.
type Options struct {
	Environment Environment
	// Push sends a credential to the worker of a session. It returns an error if the session has no
	// worker that accepts credentials; the broker tries again after [Broker.SessionChanged].
	Push func(session string, c worker.Credentials) error
	// Hide is called with each value before the value is used.
	Hide func(value string)
	// OnState is called when the phase of an account has changed. Calls do not overlap.
	OnState func(context.Context, State)
	Logger  *slog.Logger
}

// Broker holds and renews the credentials of a city. Its methods are safe for concurrent use.
type Broker struct {
	opts    Options
	wakeups engine.Signal // the loop must run

	mu        sync.Mutex
	accounts  map[string]*account
	leases    map[string][]string       // names of accounts by session
	pending   map[string]bool           // sessions to send credentials to
	delivered map[string]map[string]int // the number of the last value that was sent, by session and account
	stopped   bool                      // Run has ended: no renewals are started
	renewals  sync.WaitGroup
}

// account is an Account with its present value and state. It is guarded by Broker.mu.
type account struct {
	Account

	value   Value
	serial  int // number of the value; zero: there is no value
	since   time.Time
	renewal *renewal
	err     error          // error of the last renewal; nil: it succeeded
	delays  *retry.Backoff // of renewals after a failure
	again   time.Time      // when to renew, if set: after a failure, or to read a file again
	phase   Phase          // the last phase that was reported to OnState
}

// renewal is a running renewal.
type renewal struct {
	done   chan struct{}
	cancel context.CancelFunc
}

// New returns a broker without accounts.
func New(opts Options) *Broker {
	return &Broker{
		opts: opts, wakeups: engine.NewSignal(), accounts: map[string]*account{}, leases: map[string][]string{},
		pending: map[string]bool{}, delivered: map[string]map[string]int{},
	}
}

// Use applies a configuration. leases has the names of the accounts that each session gets. The value of an account stays if its
// source is unchanged. A value from a file is read again, because the file may have changed.
func (b *Broker) Use(accounts []Account, leases map[string][]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := map[string]*account{}
	for _, a := range accounts {
		was := b.accounts[a.Name]
		if was == nil || was.Source != a.Source {
			was = &account{delays: retry.New(firstPause, longPause)}
			for _, of := range b.delivered {
				delete(of, a.Name)
			}
		}
		was.Account = a
		if a.Source.File != "" && was.serial > 0 {
			was.again = b.opts.Environment.Now()
		}
		now[a.Name] = was
	}
	b.accounts, b.leases = now, leases
	for session := range leases {
		b.pending[session] = true
	}
	maps.DeleteFunc(b.delivered, func(session string, _ map[string]int) bool { return leases[session] == nil })
	b.wakeups.Wake()
}

// SessionChanged queues a session, because its worker may accept credentials now. It never blocks.
func (b *Broker) SessionChanged(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.leases[session]) > 0 {
		b.pending[session] = true
		b.wakeups.Wake()
	}
}

// ErrUnknown means that no account has the given name.
var ErrUnknown = errors.New("there is no such credential")

// Get returns a valid credential. If there is none, it starts a renewal or waits for a running one.
// A credential that is valid and due for renewal is returned at once.
func (b *Broker) Get(ctx context.Context, name string) (Value, error) {
	for {
		b.mu.Lock()
		a := b.accounts[name]
		if a == nil {
			b.mu.Unlock()
			return Value{}, fmt.Errorf("%w as %s", ErrUnknown, name)
		}
		now := b.opts.Environment.Now()
		if a.valid(now) {
			v := a.value
			b.mu.Unlock()
			return v, nil
		}
		if a.err != nil && now.Before(a.again) && a.renewal == nil { // do not retry for each caller
			err := a.err
			b.mu.Unlock()
			return Value{}, fmt.Errorf("cannot get the credential %s: %w", name, err)
		}
		f := b.renewLocked(ctx, a)
		b.mu.Unlock()
		if f == nil {
			return Value{}, fmt.Errorf("cannot get the credential %s: the controller is stopping", name)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return Value{}, fmt.Errorf("cannot get the credential %s: %w", name, context.Cause(ctx))
		}
	}
}

// valid reports whether the account has a credential that has not expired at now.
func (a *account) valid(now time.Time) bool {
	return a.serial > 0 && (a.value.Expires.IsZero() || now.Before(a.value.Expires))
}

// due returns when the account must be renewed: at the time of the next try if one is set; otherwise before the value expires, by
// the configured lead time but at most half of the value's life, and not sooner than the shortest interval after the last
// renewal. It returns false if the account needs no renewal.
func (a *account) due() (time.Time, bool) {
	switch {
	case !a.again.IsZero():
		return a.again, true
	case a.serial == 0 || a.value.Expires.IsZero():
		return time.Time{}, false
	}
	at := a.value.Expires.Add(-min(a.Before, a.value.Expires.Sub(a.since)/2))
	if floor := a.since.Add(shortest); at.Before(floor) {
		at = floor
	}
	return at, true
}

// shortest is the shortest time between two scheduled renewals.
const shortest = time.Second

// renewLocked starts a renewal, or returns the running one. It returns nil if the broker has
// stopped. The renewal continues when the caller's ctx ends.
func (b *Broker) renewLocked(ctx context.Context, a *account) *renewal {
	if a.renewal != nil || b.stopped {
		return a.renewal
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &renewal{make(chan struct{}), cancel}
	a.renewal = f
	source := a.Source
	b.renewals.Go(func() {
		defer cancel()
		v, err := source.Read(ctx, b.opts.Environment)
		b.finishRenewal(a, f, v, err)
	})
	return f
}

// The first and the longest pause after a failed renewal.
const (
	firstPause = 2 * time.Second
	longPause  = 2 * time.Minute
)

// finishRenewal records the result of a renewal: the new value v, or the error err. After an error
// the old value stays in use, and the renewal is tried again after a pause.
func (b *Broker) finishRenewal(a *account, f *renewal, v Value, err error) {
	if err == nil {
		b.opts.Hide(string(v.Secret))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.opts.Environment.Now()
	a.renewal, a.err = nil, err
	if err != nil {
		a.again = now.Add(a.delays.Next())
	} else {
		a.again, a.since = time.Time{}, now
		a.delays.Reset()
		if a.serial == 0 || a.value != v {
			a.value = v
			a.serial++
		}
		for session, names := range b.leases {
			if slices.Contains(names, a.Name) {
				b.pending[session] = true
			}
		}
	}
	close(f.done)
	b.wakeups.Wake()
}

// soonest is how long after a renewal a worker's report of an expiry is ignored: it may be about
// the previous value.
const soonest = 10 * time.Second

// Expiring records a worker's report that its credential expires at the given time. The report
// counts only if the session has exactly one credential and was sent the newest value.
func (b *Broker) Expiring(session string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := b.leases[session]
	if len(names) != 1 {
		return
	}
	a := b.accounts[names[0]]
	now := b.opts.Environment.Now()
	if a == nil || a.serial == 0 || b.delivered[session][a.Name] != a.serial || now.Sub(a.since) < soonest {
		return
	}
	if a.value.Expires.IsZero() || until.Before(a.value.Expires) {
		a.value.Expires = until
		b.wakeups.Wake()
	}
}

// Run renews credentials and sends them to workers until ctx ends. It does not wait for commands
// that are still running then; they stop by themselves. It must be called once.
func (b *Broker) Run(ctx context.Context) error {
	defer b.stop()
	engine.Loop(ctx, b.opts.Environment.Now, b.wakeups, func(bool) time.Time { return b.step(ctx) })
	return nil
}

// stop cancels the running renewals and waits for their goroutines.
func (b *Broker) stop() {
	b.mu.Lock()
	b.stopped = true
	for _, a := range b.accounts {
		if a.renewal != nil {
			a.renewal.cancel()
		}
	}
	b.mu.Unlock()
	b.renewals.Wait()
}

// longest is the longest pause between two checks, because clocks can be set.
const longest = time.Minute

// step renews credentials that are due, sends new ones to the workers, and reports changed states.
// It returns the time of the next check.
func (b *Broker) step(ctx context.Context) time.Time {
	var changed []State
	b.mu.Lock()
	now := b.opts.Environment.Now()
	next := now.Add(longest)
	used := map[string]bool{}
	for _, names := range b.leases {
		for _, name := range names {
			used[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.accounts)) {
		a := b.accounts[name]
		if at, ok := a.due(); ok && used[name] {
			if !at.After(now) {
				b.renewLocked(ctx, a)
			} else if at.Before(next) {
				next = at
			}
		}
		if a.valid(now) && !a.value.Expires.IsZero() && a.value.Expires.Before(next) {
			next = a.value.Expires // its phase changes then
		}
		if s := a.state(now); s.Phase != a.phase {
			a.phase = s.Phase
			changed = append(changed, s)
		}
	}
	pushes := b.duePushesLocked(ctx, now)
	b.mu.Unlock()
	for _, s := range changed {
		b.opts.OnState(ctx, s)
	}
	for _, g := range pushes {
		b.push(g)
	}
	return next
}

// duePush is a value that is to be sent to a session.
type duePush struct {
	session string
	serial  int
	body    worker.Credentials
}

// duePushesLocked returns the credentials that must be sent to the queued sessions. If a credential
// is missing, it starts its renewal; the sessions are queued again when that ends. The caller holds
// mu.
func (b *Broker) duePushesLocked(ctx context.Context, now time.Time) []duePush {
	var out []duePush
	for session := range b.pending {
		delete(b.pending, session)
		for _, name := range b.leases[session] {
			a := b.accounts[name]
			switch {
			case a == nil:
			case !a.valid(now):
				if a.err == nil {
					b.renewLocked(ctx, a)
				}
			default:
				body := worker.Credentials{Type: a.Type, Value: a.value.Secret, Account: name}
				if !a.value.Expires.IsZero() {
					end := a.value.Expires
					body.ExpiresAt = &end
				}
				out = append(out, duePush{session, a.serial, body})
			}
		}
	}
	return out
}

// push sends a credential to the worker of a session by Options.Push. That function itself avoids
// sending a value twice to the same run, because only it knows which run the session has now.
func (b *Broker) push(g duePush) {
	if err := b.opts.Push(g.session, g.body); err != nil {
		b.opts.Logger.Debug("cannot send a credential to a worker", "session", g.session, "credential", g.body.Account, "error", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.delivered[g.session] == nil {
		b.delivered[g.session] = map[string]int{}
	}
	b.delivered[g.session][g.body.Account] = g.serial
}
