// Package prompts delivers prompts to agents: it contains the engine that owns the city's receipts.
// The rules are in package prompt. This package observes the sessions, carries out the actions that
// the rules return, and saves the results.
//
// # Once
//
// A receipt is saved as injected before the first byte of its text may be sent, and the data in
// memory is never newer than the data in the store. So a controller that finds an injected receipt
// knows that the text may have been sent. It sends the text again only after [runtime.Settle] has
// proved that the agent did not accept it. While the store cannot save, nothing is sent.
//
// # Owners
//
// Each session with open receipts has one goroutine that acts for it, its owner. The goroutine
// stops with the last open receipt. It is woken by [Engine.SessionChanged], by calls of senders, by
// the end of an attempt, and at times that the rules return. It never polls, and an engine without
// open receipts does no work.
//
// # Files
//
// [FileStore] stores the texts of prompts that the input box of the agent CLI would change in files
// that agents read. Each session has its own directory with mode 0700, outside of every repository.
// Each file has mode 0600. The directory of a session is created when its agent is started, because
// the agent CLI gets the permission to read it at its start. Without the directory nothing is
// written.
package prompts

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
)

// City is the controller, as the engine uses it. Its methods may be called concurrently.
// [Engine.SessionChanged] never calls them.
type City interface {
	// Snapshot returns what the controller knows about an agent or a session, without waiting. If
	// it returns client.ErrNotFound for some time, the target is not in the city and its prompts
	// become dead. For a session that is not observed yet, the snapshot has Unknown set.
	Snapshot(name string) (session.Snapshot, error)
	// WakeFor requests the start of a session that sleeps or that its pool does not need. It may
	// return before the session runs.
	WakeFor(ctx context.Context, name, reason string) error
	// Sense requests a new reading of the target's activity. It does not wait for the reading. If
	// the reading shows anything new, [Engine.SessionChanged] is called.
	Sense(name string)
}

// Options are the dependencies and settings of an engine. All fields are required.
type Options struct {
	Store  prompt.Store
	City   City
	Events event.Log

	// PromptHold returns why a session gets no new prompts now, or an empty string if it may get
	// them. Such a session is not woken for its prompts either. It must not block. Call
	// [Engine.SessionChanged] when its result changes.
	PromptHold func(v session.Snapshot) string

	// Opens reports whether the instance of a session was started with a prompt in its command line
	// whose turn a hook reports. It must not block.
	Opens func(v session.Snapshot) bool

	// Typed returns why the prompts of a session are typed into its terminal now, or an empty
	// string if they are not typed. forGood means that the configuration requires it. It must not
	// block.
	Typed func(v session.Snapshot) (why string, forGood bool)

	// Progress returns how long a delivery may go without progress before it fails. It must not
	// block. Zero: prompt.DefaultProgress.
	Progress func() time.Duration
	// Texts stores the texts of prompts in files that agents read.
	Texts TextFiles
	// Probed is called when a session accepted a prompt or may have. If an obstacle held back its
	// prompts, this prompt was the probe.
	Probed func(session string)
	// Changed is called when the input box of a session becomes blocked or free, see
	// [Engine.InputBlocked]. It must not block.
	Changed func(session string)

	Logger *slog.Logger
	Now    func() time.Time
	NewID  func() string // returns unique IDs
}

// Engine delivers prompts. Its methods are safe for concurrent use. Methods that need the receipts
// wait until [Engine.Run] has read them.
type Engine struct {
	opts   Options
	life   engine.Lifecycle
	owners *engine.Workers // by session name, see own
	began  time.Time       // when the engine was created: this controller did not start instances that ran before

	bySession      sync.Map      // queues by session name; callers that must not wait for mu read it too
	calls          atomic.Int64  // number of calls that wait for a receipt
	uncertainAdded engine.Signal // uncertain has entries

	mu            sync.Mutex               // guards the fields below, and the fields of queues
	index         map[string]*sessionQueue // queues by the ID of an open receipt
	uncertain     []uncertainReceipt
	hookReporters map[string]hookReporter // by session name
	prompted      map[string]string       // the instance that was given a prompt, by session name
	storeError    string                  // the last failure of the store; empty: it works
	forgot        time.Time               // when old receipts were last deleted
}

// New returns an engine that does nothing until [Engine.Run].
func New(opts Options) *Engine {
	e := &Engine{
		opts: opts, life: engine.NewLifecycle(), uncertainAdded: engine.NewSignal(), index: map[string]*sessionQueue{},
		hookReporters: map[string]hookReporter{}, prompted: map[string]string{}, began: opts.Now(),
	}
	e.owners = engine.NewWorkers(0, e.own)
	return e
}

const (
	// retention is how long an ended receipt is kept. forgetEvery is the shortest time between two
	// deletions of old receipts.
	retention   = 7 * 24 * time.Hour
	forgetEvery = 6 * time.Hour
	// saveTime is the time limit of one write to the store, and readTime of the read that may
	// follow it.
	saveTime = 30 * time.Second
	readTime = 5 * time.Second
)

// Run reads the receipts and works until ctx ends. It returns when every goroutine that it started
// has returned. A running attempt may finish; an attempt that is cancelled is resolved by the next
// controller. Run must be called once.
func (e *Engine) Run(ctx context.Context) error {
	defer e.life.SetEnded()
	if !e.load(ctx) {
		return nil
	}
	e.life.SetLoaded()
	var jobs sync.WaitGroup
	defer jobs.Wait()
	jobs.Go(func() { e.resolveUncertain(ctx) })
	jobs.Go(func() { e.deleteOld(ctx) })
	e.owners.Run(ctx)
	return nil
}

// load reads the open receipts and retries while the store does not answer. It returns false if ctx
// ends first. Receipts that cannot be read are logged and skipped.
func (e *Engine) load(ctx context.Context) bool {
	open, err := engine.Load(ctx, e.opts.Store.OpenReceipts, func(err error) { e.setStoreError("read receipts", err) })
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		e.opts.Logger.Error("cannot read some receipts", "error", err)
	}
	ended, err := e.opts.Store.EndedReceipts(ctx, "", recentlyEnded)
	if err != nil && ctx.Err() == nil {
		e.opts.Logger.Warn("cannot read ended receipts", "error", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range open {
		b := e.queueLocked(r.Session, r.Agent)
		e.putLocked(b, r)
		if at := r.SubmittedAt(); at.After(b.accepted.at) {
			b.accepted = acceptance{r.Instance, at}
		}
	}
	e.restoreReportersLocked(slices.Concat(ended, open))
	e.restorePromptedLocked(slices.Concat(open, ended))
	e.restoreBlockedLocked(slices.Concat(open, ended))
	e.restoreFilesLocked(slices.Concat(open, ended))
	e.storeError = ""
	return true
}

// deleteOld deletes old receipts from the store, at most every forgetEvery.
func (e *Engine) deleteOld(ctx context.Context) {
	now := e.opts.Now()
	e.mu.Lock()
	due := now.Sub(e.forgot) >= forgetEvery
	if due {
		e.forgot = now
	}
	e.mu.Unlock()
	if !due {
		return
	}
	if _, err := e.opts.Store.DeleteReceipts(ctx, now.Add(-retention)); err != nil && ctx.Err() == nil {
		e.opts.Logger.Warn("cannot delete old receipts", "error", err)
	}
}

// SessionChanged wakes the owner of a session because its snapshot has changed. An empty name wakes
// all owners, because the rules that hold prompts back may have changed. SessionChanged does not
// block, and does nothing for a session without open receipts.
func (e *Engine) SessionChanged(name string) {
	if name == "" {
		e.bySession.Range(func(_, b any) bool {
			b.(*sessionQueue).wakeup.Wake()
			return true
		})
	}
	if b := e.queueOf(name); b != nil {
		b.wakeup.Wake()
	}
}

// queueOf returns the queue of a session, or nil if it never had a receipt. It does not wait.
func (e *Engine) queueOf(session string) *sessionQueue {
	b, _ := e.bySession.Load(session)
	queue, _ := b.(*sessionQueue)
	return queue
}

// Queued returns the number of waiting prompts by session, without sessions that have none.
func (e *Engine) Queued() map[string]int {
	counts := map[string]int{}
	e.bySession.Range(func(name, b any) bool {
		if n := b.(*sessionQueue).queued.Load(); n > 0 {
			counts[name.(string)] = int(n)
		}
		return true
	})
	return counts
}

// QueuedFor returns how many prompts wait for one session, and when the newest was accepted. It
// does not block.
func (e *Engine) QueuedFor(session string) (n int, newest time.Time) {
	if b := e.queueOf(session); b != nil {
		n = int(b.queued.Load())
		newest = time.Unix(0, b.newest.Load())
	}
	if n == 0 {
		return 0, time.Time{}
	}
	return n, newest
}

// setStoreError records a failure of the store, or with a nil err that the store works. It logs a
// change.
func (e *Engine) setStoreError(what string, err error) {
	text := ""
	if err != nil {
		text = "cannot " + what + ": " + err.Error()
	}
	e.mu.Lock()
	news := (text == "") != (e.storeError == "")
	e.storeError = text
	e.mu.Unlock()
	switch {
	case news && err != nil:
		e.opts.Logger.Error("the prompt store fails; no prompts are sent", "error", text)
	case news:
		e.opts.Logger.Info("the prompt store works again")
	}
}
