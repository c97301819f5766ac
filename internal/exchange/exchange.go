// Package exchange stands between a city and the workers of its runs: it knows
// which runs there are, who is connected, what is on its way to whom, and what
// workers have told.
//
// To the city it is a [runtime.Provider] over another one, see [Engine.Over]: a
// session whose worker is connected gets its prompts, interrupts and answers by the
// worker's stream, and its state from the worker's reports; all else goes to the
// provider below, and everything does where there is no worker. To the worker API
// it is the city.
//
// Messages are not durable in themselves. Each follows from something that is, such
// as a receipt, carries its id, and is sent again until it is acknowledged.
package exchange

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/event"
	"gascity/internal/guard"
	"gascity/internal/run"
	"gascity/internal/session"
	"gascity/internal/usage"
	"gascity/worker"
)

// City is what the engine knows of the controller. Its methods are called
// concurrently.
type City interface {
	// View returns what is known of a session.
	View(name string) (session.View, error)
	// Sense asks for a fresh reading of what a session is doing.
	Sense(name string)
	// Settled reports whether every session of the city is known: until then a token
	// that nobody knows proves nothing.
	Settled() bool
}

// Prompts is the queue of the city.
type Prompts interface {
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error)
	Receipt(ctx context.Context, id, wait string) (client.Receipt, error)
}

// Options is what an engine needs. City and Events are required.
type Options struct {
	City    City
	Events  event.Log
	Prompts Prompts // set before Run; nil: prompts are refused
	// Judge decides about a call. Nil: nothing is guarded, everything is allowed.
	Judge func(v session.View, c worker.Call) guard.Verdict
	// Spend keeps what was spent; it returns how many entries were new or changed.
	// Nil: it is not kept.
	Spend func(ctx context.Context, entries []usage.Entry) (int, error)
	// Owner is the token of the city's owner; empty: there is none.
	Owner string
	// Socket is told to agents.
	Socket string

	AskTimeout time.Duration // of a question of the guard; zero is one minute
	Logger     *slog.Logger
	Now        func() time.Time
}

// Engine is the exchange of one city. Its methods are safe for concurrent use.
type Engine struct {
	opts  Options
	looks chan struct{} // has room for one: there is something in pending

	mu      sync.Mutex
	runs    map[string]*active            // by session
	byID    map[string]*active            // by run id
	tokens  map[[sha256.Size]byte]*active // of runs that live
	fenced  map[[sha256.Size]byte]bool    // of runs whose place others have taken
	order   [][sha256.Size]byte           // of fenced, the oldest first
	pending map[string]bool               // sessions to look at
}

// New returns an engine that knows no run.
func New(opts Options) *Engine {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.AskTimeout == 0 {
		opts.AskTimeout = time.Minute
	}
	return &Engine{
		opts: opts, looks: make(chan struct{}, 1), runs: map[string]*active{}, byID: map[string]*active{},
		tokens: map[[sha256.Size]byte]*active{}, fenced: map[[sha256.Size]byte]bool{}, pending: map[string]bool{},
	}
}

// Look says that a session has changed. It never blocks.
func (e *Engine) Look(name string) {
	e.mu.Lock()
	e.pending[name] = true
	e.mu.Unlock()
	select {
	case e.looks <- struct{}{}:
	default:
	}
}

// Run works until ctx ends; then every stream is closed. It is called once.
func (e *Engine) Run(ctx context.Context) error {
	defer e.closeAll()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.looks:
		}
		e.mu.Lock()
		names := e.pending
		e.pending = map[string]bool{}
		e.mu.Unlock()
		for name := range names {
			e.see(name)
		}
	}
}

// see follows what the controller knows of a session: a run that it sees and the
// engine does not is taken up, one whose incarnation has ended is ended.
func (e *Engine) see(name string) {
	v, err := e.opts.City.View(name)
	if err != nil && !errors.Is(err, client.ErrNotFound) || v.Unknown != "" {
		return // nothing is known
	}
	e.mu.Lock()
	a := e.runs[name]
	e.mu.Unlock()
	switch {
	case a != nil && a.isStarting():
	case v.Token != "" && (a == nil || a.instance != v.Token):
		a = e.begin(v.Session, v.Agent, v.Token)
		a.recall(v.Provider)
	case v.Token == "" && !v.Running && a != nil:
		e.end(a)
	}
}

// begin takes up a run. A run of another incarnation in its place is ended.
func (e *Engine) begin(name, agent, instance string) *active {
	e.mu.Lock()
	was := e.runs[name]
	if was != nil && was.instance == instance {
		e.mu.Unlock()
		return was
	}
	a := newActive(e, name, agent, instance)
	if was != nil {
		e.forgetLocked(was)
	}
	e.runs[name], e.byID[a.id] = a, a
	e.tokens[run.Fold(run.Token(instance, 0))] = a
	e.mu.Unlock()
	if was != nil {
		was.close(run.Item{End: true})
	}
	return a
}

// end ends a run: its token is dead, its stream over.
func (e *Engine) end(a *active) {
	e.mu.Lock()
	if e.runs[a.session] == a {
		e.forgetLocked(a)
	}
	e.mu.Unlock()
	a.close(run.Item{End: true})
}

// maxFenced is how many dead tokens are remembered, to tell their workers more than
// that they are unknown.
const maxFenced = 4096

func (e *Engine) forgetLocked(a *active) {
	delete(e.runs, a.session)
	delete(e.byID, a.id)
	for token, of := range e.tokens {
		if of != a {
			continue
		}
		delete(e.tokens, token)
		e.fenced[token] = true
		if e.order = append(e.order, token); len(e.order) > maxFenced {
			delete(e.fenced, e.order[0])
			e.order = e.order[1:]
		}
	}
}

func (e *Engine) closeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.runs {
		a.close(run.Item{})
	}
}

// of returns the run of a session, nil if none is known.
func (e *Engine) of(name string) *active {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[name]
}

// named returns a run by its id.
func (e *Engine) named(id string) (*active, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.byID[id]; a != nil {
		return a, nil
	}
	return nil, &unknownRun{id, e.opts.City.Settled()}
}

// unknownRun is a run that the engine does not know.
type unknownRun struct {
	id      string
	settled bool
}

func (u *unknownRun) Error() string {
	if !u.settled {
		return "the city does not know all its sessions yet; ask again"
	}
	return "there is no run " + u.id
}

// Is reports whether target is the sentinel of the answer: a run may turn up as long
// as not all sessions are known.
func (u *unknownRun) Is(target error) bool {
	if !u.settled {
		return target == worker.ErrUnavailable
	}
	return target == worker.ErrNotFound
}

// Authenticate keeps the contract of workerapi.Tokens.
func (e *Engine) Authenticate(token string) (run.Caller, error) {
	folded := run.Fold(token)
	if e.opts.Owner != "" && folded == run.Fold(e.opts.Owner) {
		return run.Caller{Owner: true}, nil
	}
	e.mu.Lock()
	a, fenced := e.tokens[folded], e.fenced[folded]
	e.mu.Unlock()
	switch {
	case a != nil:
		return run.Caller{Run: a.id}, nil
	case fenced:
		return run.Caller{}, errFenced
	case !e.opts.City.Settled():
		return run.Caller{}, errEarly
	}
	return run.Caller{}, errUnknownToken
}
