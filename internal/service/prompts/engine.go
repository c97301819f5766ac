// Package prompts brings prompts to agents: the engine that owns the city's
// receipts. The rules are those of package prompt; this package sees what there
// is to see, does what they say, and saves it.
//
// # Once
//
// A receipt is saved as injected before the first byte of its text may leave,
// and what is in memory is never ahead of what is saved. So a controller that
// finds an injected receipt knows that the text may have been sent, and sends
// it again only after [runtime.Settle] has proved that the agent did not accept
// it. While the store cannot save, nothing is sent.
//
// # Owners
//
// Each session with open receipts has one goroutine that acts for it, and that
// ends with the last of them. It is moved by [Engine.SessionChanged], by what senders do, by
// the end of an attempt, and by times that the rules name; it never polls, and an
// engine without open receipts does nothing at all.
package prompts

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
)

// City is what the engine knows of the controller. Its methods are called
// concurrently, and never by [Engine.SessionChanged].
type City interface {
	// Snapshot returns what is known of the target, an agent or a session, at once. An
	// error matching client.ErrNotFound that lasts is positive: the target is not in
	// the city, and its prompts are dead. A session that is not observed yet is a
	// View with Unknown.
	Snapshot(name string) (session.Snapshot, error)
	// WakeFor asks for a target to run that sleeps, or that its pool does not want.
	// It may return before it does.
	WakeFor(ctx context.Context, name, reason string) error
	// Sense asks for a fresh reading of what the target is doing. It returns before
	// that is there; the view has it then, and [Engine.SessionChanged] is called if it shows
	// anything new.
	Sense(name string)
}

// Options is what an engine needs.
type Options struct {
	Store  prompt.Store // required
	City   City         // required
	Events event.Log    // required

	// PromptHold says why a session gets no new prompts for now; empty: it may have them.
	// Such a session is not woken for them either. It must not block; call
	// [Engine.SessionChanged] when its answer changes. Nil: nothing is ever held.
	PromptHold func(v session.Snapshot) string

	// Opens reports whether the instance of a session has a prompt in its command line,
	// whose turn a hook reports. It must not block. Nil: none has.
	Opens func(v session.Snapshot) bool

	// Typed says why the prompts of a session are typed into its terminal now; empty: they are
	// not. forGood: that is so by its configuration. It must not block. Nil: nothing is typed.
	Typed func(v session.Snapshot) (why string, forGood bool)

	// Progress is how long a delivery may go without progress before it ends. It must not
	// block. Nil, or zero: prompt.DefaultProgress.
	Progress func() time.Duration
	// Texts keeps texts of prompts in files that agents read. Nil: no agent is given a file.
	Texts TextFiles
	// Probed is called when a session took a prompt, or may have: if an obstacle held its
	// prompts back, this was the one that was tried. Nil: no call.
	Probed func(session string)
	// Changed is called when a session becomes input blocked or is so no more, see
	// [Engine.InputBlocked]. It must not block. Nil: no call.
	Changed func(session string)

	Logger *slog.Logger     // nil: nothing is logged
	Now    func() time.Time // nil: time.Now
	NewID  func() string    // nil: random ones; unique for ever
}

// Engine delivers prompts. Its methods are safe for concurrent use; those that
// need the receipts wait until [Engine.Run] has read them.
type Engine struct {
	opts   Options
	loaded chan struct{} // closed when the receipts are read
	done   chan struct{} // closed when Run returns
	wakeup chan struct{} // there is a box without an owner, or something to forget
	began  time.Time     // when the engine was made: what ran before was not started by this controller

	bySession      sync.Map      // the boxes by their session, for who may not wait for mu
	calls          atomic.Int64  // that wait for a receipt
	uncertainAdded chan struct{} // there are uncertain receipts

	mu            sync.Mutex // guards the rest and the memory of boxes
	queues        map[string]*sessionQueue
	index         map[string]*sessionQueue // by the ID of an open receipt
	ownerless     []*sessionQueue          // with open receipts and without an owner
	uncertain     []uncertainReceipt
	hookReporters map[string]hookReporter // by session, whose hooks report its prompts
	prompted      map[string]string       // the instance, by its session, that was given a prompt
	degraded      string                  // the store's last failure, empty when it works
	forgot        time.Time               // when ended receipts were last forgotten
}

// New returns an engine that does nothing until [Engine.Run].
func New(opts Options) *Engine {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.PromptHold == nil {
		opts.PromptHold = func(session.Snapshot) string { return "" }
	}
	if opts.Opens == nil {
		opts.Opens = func(session.Snapshot) bool { return false }
	}
	if opts.Typed == nil {
		opts.Typed = func(session.Snapshot) (string, bool) { return "", false }
	}
	if opts.Progress == nil {
		opts.Progress = func() time.Duration { return prompt.DefaultProgress }
	}
	if opts.Texts == nil {
		opts.Texts = noFiles{}
	}
	if opts.Changed == nil {
		opts.Changed = func(string) {}
	}
	if opts.NewID == nil {
		opts.NewID = rand.Text
	}
	return &Engine{
		opts: opts, loaded: make(chan struct{}), done: make(chan struct{}), wakeup: make(chan struct{}, 1),
		uncertainAdded: make(chan struct{}, 1), queues: map[string]*sessionQueue{}, index: map[string]*sessionQueue{},
		hookReporters: map[string]hookReporter{}, prompted: map[string]string{}, began: opts.Now(),
	}
}

const (
	// retention is how long an ended receipt is kept, forgetEvery how often at
	// most old ones are looked for.
	retention   = 7 * 24 * time.Hour
	forgetEvery = 6 * time.Hour
	// retryFirst and retryMax space the attempts at a store that fails.
	retryFirst = 100 * time.Millisecond
	retryMax   = 5 * time.Second
	// saveTime bounds one change of the store, readTime a question that follows
	// one.
	saveTime = 30 * time.Second
	readTime = 5 * time.Second
)

// Run reads the receipts, works until ctx ends, and returns when every goroutine
// that it started has ended. An attempt under way may come to its end; what was
// cut off is resolved by the next Run. It is called once.
func (e *Engine) Run(ctx context.Context) error {
	defer close(e.done)
	if !e.load(ctx) {
		return nil
	}
	close(e.loaded)
	var owners sync.WaitGroup
	defer owners.Wait()
	owners.Go(func() { e.resolveUncertain(ctx) })
	for {
		for _, b := range e.unowned() {
			owners.Go(func() { e.own(ctx, b) })
		}
		e.forget(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-e.wakeup:
		}
	}
}

// load reads the open receipts, however often the store does not answer; it is
// false if ctx ended first. An invalid one is left where it is: it does not delay
// the others.
func (e *Engine) load(ctx context.Context) bool {
	for wait := retryFirst; ; wait = min(2*wait, retryMax) {
		open, err := e.opts.Store.OpenReceipts(ctx)
		if ctx.Err() == nil && !errors.Is(err, client.ErrUnavailable) {
			if err != nil {
				e.opts.Logger.Error("some receipts cannot be read", "error", err)
			}
			ended, err := e.opts.Store.EndedReceipts(ctx, "", recentlyEnded)
			if err != nil && ctx.Err() == nil {
				e.opts.Logger.Warn("ended receipts cannot be read", "error", err)
			}
			e.mu.Lock()
			for _, r := range open {
				b := e.queueLocked(r.Session, r.Agent)
				e.putLocked(b, r)
				if at := r.SubmittedAt(); at.After(b.accepted.at) {
					b.accepted = acceptance{r.Instance, at}
				}
			}
			e.restoreReportersLocked(slices.Concat(ended, open))
			e.promptedLocked(slices.Concat(open, ended))
			e.restoreBlockedLocked(slices.Concat(open, ended))
			e.restoreFilesLocked(slices.Concat(open, ended))
			e.degraded = ""
			e.mu.Unlock()
			return true
		}
		e.degrade("read receipts", err)
		if !pause(ctx, wait) {
			return false
		}
	}
}

// pause waits; it is false if ctx ended first.
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

// forget removes old receipts, rarely.
func (e *Engine) forget(ctx context.Context) {
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
		e.opts.Logger.Warn("cannot forget old receipts", "error", err)
	}
}

// SessionChanged says that what is known of a session has changed. It does not block, and
// costs nothing if the session has no open receipts.
func (e *Engine) SessionChanged(name string) {
	if b, ok := e.bySession.Load(name); ok {
		b.(*sessionQueue).wakeOwner()
	}
}

// Queued returns how many prompts wait for each session that has any.
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

// QueuedFor returns how many prompts wait for one session, and when the newest was
// accepted. It does not block.
func (e *Engine) QueuedFor(session string) (n int, newest time.Time) {
	found, ok := e.bySession.Load(session)
	if !ok {
		return 0, time.Time{}
	}
	b := found.(*sessionQueue)
	if n = int(b.queued.Load()); n == 0 {
		return 0, time.Time{}
	}
	return n, time.Unix(0, b.newest.Load())
}

// degrade records a failure of the store; a nil err is its end.
func (e *Engine) degrade(what string, err error) {
	text := ""
	if err != nil {
		text = "cannot " + what + ": " + err.Error()
	}
	e.mu.Lock()
	news := (text == "") != (e.degraded == "")
	e.degraded = text
	e.mu.Unlock()
	switch {
	case news && err != nil:
		e.opts.Logger.Error("the store of prompts fails; nothing is sent", "error", text)
	case news:
		e.opts.Logger.Info("the store of prompts works again")
	}
}
