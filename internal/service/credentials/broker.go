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

	"gascity/worker"
)

// Account is one credential as it is configured.
type Account struct {
	Name   string
	Type   string // "api_key", "oauth" or "token"
	Source Source
	Before time.Duration // how long before its end it is renewed
}

// Lease is what a session is to have.
type Lease struct {
	Session  string
	Accounts []string // their names
}

// Options is what a broker needs. World and Push are required.
type Options struct {
	Environment Environment
	// Push gives a credential to the worker of a session, and returns for which run. An
	// error says that it has none who takes it; it gets it once [Broker.SessionChanged] is called.
	Push func(session string, c worker.Credentials) (run string, err error)
	// Hide is called with each value before any use of it. It may be nil.
	Hide func(value string)
	// OnState is called when an account's state has become another one, never with two at
	// a time of one account. It may be nil.
	OnState func(State)
	Logger  *slog.Logger
}

// Broker has the credentials of a city. Its methods are safe for concurrent use.
type Broker struct {
	opts  Options
	kicks chan struct{} // has room for one: there is something to do

	mu        sync.Mutex
	accounts  map[string]*account
	leases    map[string][]string // by session
	pending   map[string]bool     // sessions to look at
	delivered map[string]map[string]delivered
	stopped   bool // nothing is renewed any more
	renewals  sync.WaitGroup
}

// delivered is what the worker of a session was given: which value, to which run.
type delivered struct {
	run    string
	serial int
}

// account is an Account with what is known of it; guarded by Broker.mu.
type account struct {
	Account

	value   Value
	serial  int // of the value; zero: there is none
	since   time.Time
	renewal *renewal
	err     error     // of the last try; nil: it succeeded
	failed  int       // tries in a row
	again   time.Time // when to try again after a failure
	phase   Phase     // as reported last
}

// renewal is one renewal that is under way.
type renewal struct {
	done   chan struct{}
	cancel context.CancelFunc
}

// New returns a broker without accounts.
func New(opts Options) *Broker {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Hide == nil {
		opts.Hide = func(string) {}
	}
	return &Broker{
		opts: opts, kicks: make(chan struct{}, 1), accounts: map[string]*account{}, leases: map[string][]string{},
		pending: map[string]bool{}, delivered: map[string]map[string]delivered{},
	}
}

// Use puts a configuration in force. What is known of an account whose source is the
// same is kept; one from a file is read again, for that may be why this is called.
func (b *Broker) Use(accounts []Account, leases []Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := map[string]*account{}
	for _, a := range accounts {
		was := b.accounts[a.Name]
		if was == nil || was.Source != a.Source {
			was = &account{}
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
	b.accounts = now
	b.leases = map[string][]string{}
	for _, l := range leases {
		b.leases[l.Session] = l.Accounts
		b.pending[l.Session] = true
	}
	for session := range b.delivered {
		if b.leases[session] == nil {
			delete(b.delivered, session)
		}
	}
	b.kick()
}

// SessionChanged says that a session has changed: its worker may take credentials now. It
// never blocks.
func (b *Broker) SessionChanged(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.leases[session]) > 0 {
		b.pending[session] = true
		b.kick()
	}
}

func (b *Broker) kick() {
	select {
	case b.kicks <- struct{}{}:
	default: // it will look anyway
	}
}

// ErrUnknown reports a name that no account has.
var ErrUnknown = errors.New("there is no such credential")

// Get returns a credential that is good now. It waits for a renewal, which it shares
// with all others, if there is none; one that is good still is returned although it
// is about to be renewed.
func (b *Broker) Get(ctx context.Context, name string) (Value, error) {
	for {
		b.mu.Lock()
		a := b.accounts[name]
		if a == nil {
			b.mu.Unlock()
			return Value{}, fmt.Errorf("%w as %s", ErrUnknown, name)
		}
		now := b.opts.Environment.Now()
		if a.good(now) {
			v := a.value
			b.mu.Unlock()
			return v, nil
		}
		if a.failed > 0 && now.Before(a.again) && a.renewal == nil { // not each caller again
			err := a.err
			b.mu.Unlock()
			return Value{}, fmt.Errorf("cannot get the credential %s: %w", name, err)
		}
		f := b.renewLocked(ctx, a)
		b.mu.Unlock()
		if f == nil {
			return Value{}, fmt.Errorf("cannot get the credential %s: the city is ending", name)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return Value{}, fmt.Errorf("cannot get the credential %s: %w", name, context.Cause(ctx))
		}
	}
}

// good reports whether there is a value that has not ended.
func (a *account) good(now time.Time) bool {
	return a.serial > 0 && (a.value.Expires.IsZero() || now.Before(a.value.Expires))
}

// due returns when the account is to be renewed; not ok: never by itself.
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

// shortest is how long after a renewal there is no other, by itself.
const shortest = time.Second

// renewLocked begins a renewal, or joins the one that is under way. Nil: it is too
// late for one. The renewal does not end with its first caller.
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

// The pauses after failures.
const (
	firstPause = 2 * time.Second
	longPause  = 2 * time.Minute
)

// finishRenewal records the result of a renewal. A failed one takes no value away.
func (b *Broker) finishRenewal(a *account, f *renewal, v Value, err error) {
	if err == nil {
		b.opts.Hide(string(v.Secret))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.opts.Environment.Now()
	a.renewal, a.err = nil, err
	if err != nil {
		a.again = now.Add(min(longPause, firstPause<<min(a.failed, 10)))
		a.failed++
	} else {
		a.again, a.failed, a.since = time.Time{}, 0, now
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
	b.kick()
}

// soonest is the shortest time for which a worker's word about an end is believed
// after a renewal: it may be about the value before.
const soonest = 10 * time.Second

// Expiring takes a worker's word that its credential ends then. It counts if the
// session has one alone and was given the newest.
func (b *Broker) Expiring(session string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := b.leases[session]
	if len(names) != 1 {
		return
	}
	a := b.accounts[names[0]]
	now := b.opts.Environment.Now()
	if a == nil || a.serial == 0 || b.delivered[session][a.Name].serial != a.serial || now.Sub(a.since) < soonest {
		return
	}
	if a.value.Expires.IsZero() || until.Before(a.value.Expires) {
		a.value.Expires = until
		b.kick()
	}
}

// Run renews and hands out until ctx ends; helpers that run then are left to end by
// themselves. It is called once.
func (b *Broker) Run(ctx context.Context) error {
	defer b.end()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(b.step(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-b.kicks:
		case <-timer.C:
		}
	}
}

func (b *Broker) end() {
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

// longest bounds how long nothing is looked at: clocks are set.
const longest = time.Minute

// step does what is due, and returns when to look again.
func (b *Broker) step(ctx context.Context) time.Duration {
	var tell []State
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
		if a.good(now) && !a.value.Expires.IsZero() && a.value.Expires.Before(next) {
			next = a.value.Expires // then its state is another one
		}
		if s := a.state(now); s.Phase != a.phase {
			a.phase = s.Phase
			tell = append(tell, s)
		}
	}
	gifts := b.duePushesLocked(ctx, now)
	b.mu.Unlock()
	for _, s := range tell {
		if b.opts.OnState != nil {
			b.opts.OnState(s)
		}
	}
	for _, g := range gifts {
		b.push(g)
	}
	return max(time.Millisecond, next.Sub(now))
}

// duePush is a value on its way to a session.
type duePush struct {
	session string
	serial  int
	body    worker.Credentials
}

// duePushesLocked takes the sessions that are to be looked at. For a value that is not
// there a renewal begins, at whose end they are looked at again.
func (b *Broker) duePushesLocked(ctx context.Context, now time.Time) []duePush {
	var out []duePush
	for session := range b.pending {
		delete(b.pending, session)
		for _, name := range b.leases[session] {
			a := b.accounts[name]
			switch {
			case a == nil:
			case !a.good(now):
				if a.failed == 0 {
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

// push passes a value. Push is asked even if it was given before: only it knows
// which run the session has now, and gives one that has it nothing.
func (b *Broker) push(g duePush) {
	run, err := b.opts.Push(g.session, g.body)
	if err != nil {
		b.opts.Logger.Debug("a credential was not passed to a worker", "session", g.session, "credential", g.body.Account, "error", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.delivered[g.session] == nil {
		b.delivered[g.session] = map[string]delivered{}
	}
	b.delivered[g.session][g.body.Account] = delivered{run, g.serial}
}
