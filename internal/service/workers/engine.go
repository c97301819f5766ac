// Package workers connects a city with the workers of its runs. It knows the runs, the connected
// workers, the messages to each worker, and the workers' reports.
//
// For the city the engine is a [runtime.Provider] over another provider, see [Engine.WrapProvider].
// A session whose worker is connected gets prompts, interrupts and answers by the worker's stream,
// and its state comes from the worker's reports. Everything else, and every session without a
// worker, uses the underlying provider. For the worker API the engine is the city.
//
// Messages are not stored. Each message follows from durable data, such as a receipt, carries its
// ID, and is sent again until the worker acknowledges it. The way by which a prompt is sent is
// saved with the session before its first byte is sent.
//
// # Compaction
//
// When the context of a conversation becomes full, the engine warns people, compacts the
// conversation, or hands it over to a new conversation. During a compaction or a hand-over the
// session is locked: it gets no prompts, and gc does not restart it without a request. So a
// compaction, a hand-over and a restart never run at the same time.
//
// # Context log
//
// The context log of an instance records which context sections it has received, and which of them
// were not yet seen in its conversation. A section is sent once in each epoch of the conversation,
// by stream, prompt or hook. A new epoch starts with the instance, with each compaction and with
// each new conversation.
//
// # Run memory
//
// The memory of a run is what a later controller needs: which messages the worker received and what
// it reported. Sessions whose memory is not read yet, and sessions without a connected worker, have
// providers of their own.
package workers

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/internal/guard"
	"gascity/internal/service/engine"
	"gascity/worker"
)

// City is the controller, as the engine uses it. Its methods may be called concurrently.
type City interface {
	// Snapshot returns what the controller knows about a session.
	Snapshot(name string) (session.Snapshot, error)
	// Sense requests a new reading of the session's activity. It does not wait for the reading.
	Sense(name string)
	// HasSynced reports whether every session of the city is known and [Engine.SessionChanged] was
	// called for each. Before that, an unknown token may belong to a run that is not loaded yet.
	HasSynced() bool
}

// Prompts is the prompt queue of the city.
type Prompts interface {
	Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error)
	// Worked records that a turn of an instance, given by its public name, has worked on the prompt
	// of a receipt. It may be called late and more than once.
	Worked(ctx context.Context, id, instance string) error
	// RecordHookReport records a hook's report about prompts that reach its agent, see
	// [prompt.HookReport].
	RecordHookReport(ctx context.Context, w prompt.HookReport) error
}

// Options are the dependencies and settings of an engine. All functions and interfaces are required.
type Options struct {
	City    City
	Events  event.Log
	Prompts Prompts
	// Judge returns the verdict about a tool call.
	Judge func(v session.Snapshot, c worker.Call) guard.Verdict
	// Regime returns the guard settings of the city.
	Regime func() guard.Regime
	// Readers returns the tools that a session may use while the city does not answer, and the
	// texts that must not be in their inputs.
	Readers func(v session.Snapshot) (tools, except []string)
	// Ready is called when a session has shown that it asks the guard, so that it may get prompts.
	// It must not block.
	Ready func(session string)
	// Enforce stops or interrupts an instance, given by its public name, that ran a tool call that
	// was not allowed.
	Enforce func(ctx context.Context, session, instance, reason string, act guard.Bypass) error
	// Spend stores usage entries and returns how many of them were new or changed.
	Spend func(ctx context.Context, entries []usage.Entry) (int, error)
	// Hide is called with each token that the engine creates or loads, before the token can appear
	// in any text.
	Hide func(token string)
	// Owner is the token of the city's owner. Empty: no owner token.
	Owner string
	// Socket is the path of the worker API's socket, and URL its address for agents that cannot use
	// a socket. Both are passed to agents; an empty value is not passed.
	Socket, URL string
	// Announce is called before an agent is started. If it returns an error, the start fails with
	// that error.
	Announce func(session string) error
	// Retire is called when the run of a session has ended and no other run has replaced it.
	Retire func(session string)
	// Joined is called when the worker of a session may accept credentials, see [Engine.Push].
	// Expiring is called when a worker reports that its credential expires.
	Joined   func(session string)
	Expiring func(session string, until time.Time)

	// Sections returns the city's context sections for an agent in a mode.
	Sections func(agent string, mode worker.ContextMode) []worker.Section
	// Carried returns the types of the sections that a new start of an agent already includes: in
	// the agent's arguments, and in prompts that are typed at the start.
	Carried func(agent string) (argued, typed []string)
	// Hookless reports whether gc has no hooks for the program of an agent, and the program does not use the worker API itself, so
	// nothing asks the guard.
	Hookless func(agent string) bool
	// Native reports whether an agent gets prompts only by its worker.
	Native func(agent string) bool
	// Pressure returns the compaction rules of an agent.
	Pressure func(agent string) plan.ContextPolicy
	// Handoff restarts an instance, given by its public name, in a new conversation that receives a
	// note about the previous one. The request is durable when Handoff returns, and Handoff may be
	// called again for the same instance.
	Handoff func(ctx context.Context, session, instance string) error

	// AskTimeout returns how long a guard question waits for an answer; zero: one minute.
	AskTimeout func() time.Duration
	Logger     *slog.Logger
	Now        func() time.Time
}

// Engine manages the worker sessions of one city. Its methods are safe for concurrent use.
type Engine struct {
	opts       Options
	owner      [sha256.Size]byte // hash of the owner's token
	checks     *engine.Workers   // sessions whose runs must be checked
	violations chan violation
	// leaving are the runs whose conversations are to be handed over.
	leaving chan *liveRun

	mu     sync.Mutex
	runs   map[string]*liveRun              // by session name
	byID   map[string]*liveRun              // by run ID; includes runs that are being started
	tokens map[[sha256.Size]byte]tokenGrant // tokens of active runs, by hash
	fenced map[[sha256.Size]byte]bool       // hashes of the tokens of ended runs
	order  [][sha256.Size]byte              // the keys of fenced, oldest first
	past   map[string]bool                  // IDs of runs that other runs have replaced
	pasts  []string                         // the keys of past, oldest first
}

// tokenGrant is the run that a token authenticates.
type tokenGrant struct {
	run   *liveRun
	until time.Time // when the token expires; zero: at the end of the run
}

// New returns an engine without runs.
func New(opts Options) *Engine {
	e := &Engine{
		opts: opts, owner: session.HashToken(opts.Owner), violations: make(chan violation, maxViolations), leaving: make(chan *liveRun, maxViolations), runs: map[string]*liveRun{}, byID: map[string]*liveRun{},
		tokens: map[[sha256.Size]byte]tokenGrant{}, fenced: map[[sha256.Size]byte]bool{}, past: map[string]bool{},
	}
	e.checks = engine.NewWorkers(maxParallel, e.syncRun)
	return e
}

// SessionChanged queues a session to be checked. It never blocks.
func (e *Engine) SessionChanged(name string) { e.checks.Add(name) }

// maxParallel is how many sessions are checked at the same time, so that a backend that does not
// answer for one session does not delay the others.
const maxParallel = 32

// Run handles changes of sessions until ctx ends. Then it closes every stream. It must be called
// once.
func (e *Engine) Run(ctx context.Context) error {
	var work sync.WaitGroup
	defer work.Wait()
	defer e.closeAll()
	work.Go(func() { e.checks.Run(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-e.violations:
			work.Go(func() { e.enforce(ctx, c) })
		case a := <-e.leaving:
			work.Go(func() { e.requestHandoff(ctx, a) })
		}
	}
}

// hasSynced reports whether the engine has loaded every run of the city. Before that, an unknown
// run or token may be one that is not loaded yet.
func (e *Engine) hasSynced() bool {
	if !e.opts.City.HasSynced() { // checked first: after this every session is pending, in progress, or known
		return false
	}
	return e.checks.IsIdle()
}

// closeAll closes the stream of every run.
func (e *Engine) closeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.runs {
		a.close(session.StreamItem{})
	}
}
