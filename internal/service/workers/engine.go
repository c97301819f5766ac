// Package workers stands between a city and the workers of its runs: it knows
// which runs there are, who is connected, what is on its way to whom, and what
// workers have reported.
//
// To the city it is a [runtime.Provider] over another one, see [Engine.WrapProvider]: a
// session whose worker is connected gets its prompts, interrupts and answers by the
// worker's stream, and its state from the worker's reports; all else goes to the
// provider below, and everything does where there is no worker. To the worker API
// it is the city.
//
// Messages are not durable in themselves. Each follows from something that is, such
// as a receipt, carries its id, and is sent again until it is acknowledged. By which
// way a prompt went is kept with its session before its first byte goes.
package workers

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/internal/domain/workerrun"
	"gascity/internal/guard"
	"gascity/internal/service/workers/compaction"
	"gascity/worker"
)

// City is what the engine knows of the controller. Its methods are called
// concurrently.
type City interface {
	// Snapshot returns what is known of a session.
	Snapshot(name string) (session.Snapshot, error)
	// Sense asks for a fresh reading of what a session is doing. It does not wait for it.
	Sense(name string)
	// HasSynced reports whether every session of the city is known, and [Engine.SessionChanged]
	// was called for each: until then an unknown token proves nothing.
	HasSynced() bool
}

// Prompts is the queue of the city.
type Prompts interface {
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error)
	// Worked takes the word of an instance, by its public name, that a turn has worked
	// on the prompt of a receipt. It may come repeated, and late.
	Worked(ctx context.Context, id, instance string) error
	// RecordHookReport takes a hook's report about the prompts that reach its agent, see
	// [prompt.HookReport].
	RecordHookReport(ctx context.Context, w prompt.HookReport) error
}

// Options is what an engine needs. City and Events are required.
type Options struct {
	City    City
	Events  event.Log
	Prompts Prompts // nil: prompts are refused
	// Judge decides about a call. Nil: nothing is guarded, everything is allowed.
	Judge func(v session.Snapshot, c worker.Call) guard.Verdict
	// Regime is what the city wants of its guard. Nil: there is none.
	Regime func() guard.Regime
	// Readers are the tools that a session may use while the city does not answer, and the
	// texts that must not stand in their inputs. Nil: there are none.
	Readers func(v session.Snapshot) (tools, except []string)
	// Ready says that a session has shown that it asks the guard: it may get prompts. It
	// must not block. Nil: no call.
	Ready func(session string)
	// Enforce has the city stop or interrupt an instance, by its public name, that ran
	// what was denied. Nil: it is only reported.
	Enforce func(ctx context.Context, session, instance, reason string, act guard.Bypass) error
	// Spend keeps what was spent; it returns how many entries were new or changed.
	// Nil: it is not kept.
	Spend func(ctx context.Context, entries []usage.Entry) (int, error)
	// Hide is called with each token that is made or found, before anybody can quote it. Nil: no
	// call.
	Hide func(token string)
	// Owner is the token of the city's owner; empty: there is none.
	Owner string
	// Socket is given to agents, and URL to those that cannot use a socket;
	// empty: not.
	Socket, URL string
	// Announce is called before an agent is started, which fails with its error. Nil:
	// no call.
	Announce func(session string) error
	// Retire is called when the run of a session has ended and no other has its place.
	// Nil: no call.
	Retire func(session string)
	// Joined is called when the worker of a session may take credentials from now on, see
	// [Engine.Push], and Expiring when one says that its credential ends. Nil: no call.
	Joined   func(session string)
	Expiring func(session string, until time.Time)

	// Sections are the city's context for an agent in a mode. Nil: nothing.
	Sections func(agent string, mode worker.ContextMode) []worker.Section
	// Carried are the types of those sections that a fresh start brings by itself: in
	// the agent's arguments, and as prompts that are typed. Nil: none.
	Carried func(agent string) (argued, typed []string)
	// Native says that an agent takes prompts by its worker alone. Nil: none does, as far as
	// anybody knows.
	Native func(agent string) bool
	// Pressure returns the policy for an agent whose context fills up. Nil: nothing.
	Pressure func(agent string) compaction.Rules
	// Handoff has the city restart an instance, by its public name, in a new conversation
	// that receives a note about the previous one. It is durable when it returns, and may
	// be repeated. Nil: nothing is handed over.
	Handoff func(ctx context.Context, session, instance string) error

	AskTimeout time.Duration // of a question of the guard; zero is one minute
	// Asking is AskTimeout where it may change; zero leaves it at that. It may be nil.
	Asking func() time.Duration
	Logger *slog.Logger
	Now    func() time.Time
}

// Engine is the exchange of one city. Its methods are safe for concurrent use.
type Engine struct {
	opts       Options
	owner      [sha256.Size]byte // the owner's token, folded
	wakeup     chan struct{}     // has room for one: there is something in pending
	violations chan violation
	// leaving are runs whose conversations are to be handed over.
	leaving chan *liveRun

	mu         sync.Mutex
	runs       map[string]*liveRun              // by session
	byID       map[string]*liveRun              // by run id; also those that are being started
	tokens     map[[sha256.Size]byte]tokenGrant // of runs that live
	fenced     map[[sha256.Size]byte]bool       // tokens of runs that have ended
	order      [][sha256.Size]byte              // of fenced, the oldest first
	past       map[string]bool                  // ids of runs whose place others have taken
	pasts      []string                         // of past, the oldest first
	pending    map[string]bool                  // sessions to look at
	inProgress map[string]bool                  // sessions that are being looked at
}

// tokenGrant is for whom a token speaks.
type tokenGrant struct {
	run   *liveRun
	until time.Time // zero: as long as the run
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
		opts: opts, owner: workerrun.HashToken(opts.Owner), wakeup: make(chan struct{}, 1), violations: make(chan violation, maxViolations), leaving: make(chan *liveRun, maxViolations), runs: map[string]*liveRun{}, byID: map[string]*liveRun{},
		tokens: map[[sha256.Size]byte]tokenGrant{}, fenced: map[[sha256.Size]byte]bool{}, past: map[string]bool{},
		pending: map[string]bool{}, inProgress: map[string]bool{},
	}
}

// SessionChanged says that a session has changed. It never blocks.
func (e *Engine) SessionChanged(name string) {
	e.mu.Lock()
	e.pending[name] = true
	e.mu.Unlock()
	e.kick()
}

func (e *Engine) kick() {
	select {
	case e.wakeup <- struct{}{}:
	default: // it will look anyway
	}
}

// maxParallel is how many sessions are looked at at a time: one whose place hangs must
// not hold up the others.
const maxParallel = 32

// Run works until ctx ends; then every stream is closed. It is called once.
func (e *Engine) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	defer e.closeAll()
	room := make(chan struct{}, maxParallel)
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-e.violations:
			work.Go(func() { e.enforce(ctx, c) })
			continue
		case a := <-e.leaving:
			work.Go(func() { e.requestHandoff(ctx, a) })
			continue
		case <-e.wakeup:
		}
		for _, name := range e.due() {
			work.Go(func() {
				select {
				case room <- struct{}{}:
					e.follow(name)
					<-room
				case <-ctx.Done():
				}
				e.seen(name)
			})
		}
	}
}

// due takes the sessions that are to be looked at; one that is being looked at waits.
func (e *Engine) due() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var names []string
	for name := range e.pending {
		if !e.inProgress[name] {
			delete(e.pending, name)
			e.inProgress[name] = true
			names = append(names, name)
		}
	}
	return names
}

func (e *Engine) seen(name string) {
	e.mu.Lock()
	delete(e.inProgress, name)
	again := e.pending[name]
	e.mu.Unlock()
	if again {
		e.kick()
	}
}

// hasSynced reports whether every run of the city is known here.
func (e *Engine) hasSynced() bool {
	if !e.opts.City.HasSynced() { // first: after it every session is pending, looked at, or known
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.pending)+len(e.inProgress) == 0
}

func (e *Engine) closeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.runs {
		a.close(workerrun.Item{})
	}
}
