// Package budgets keeps what agents spend, and holds them to their budgets: it
// re-evaluates budgets on every usage report and at their next deadline, and has
// the city hold or stop agents. It needs no agent and no model for that.
//
// What it knows follows from the entries that the store keeps. It adds entries of
// its own for what is not reported, such as the working time of an agent and the
// silence of one without usage reports. So another controller comes to the same
// verdicts.
//
// As long as the entries are not read, no budget is known to have anything left,
// and an agent with a budget that holds prompts gets none.
package budgets

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
)

// City is what the engine knows of the controller. Its methods are called
// concurrently, and never by [Engine.SessionChanged], [Engine.Spend] or [Engine.PromptHold].
type City interface {
	// Snapshots returns what is known of every session.
	Snapshots() []session.Snapshot
	// Interrupt asks an instance to abandon its turn.
	Interrupt(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error)
	// Withhold ends a session and keeps it from running until [City.Allow]. That is
	// no failure of the session. It is durable when it returns. until is for people;
	// zero is not known.
	Withhold(ctx context.Context, name, reason string, until time.Time) error
	// Allow ends what Withhold began; without that it does nothing.
	Allow(ctx context.Context, name, reason string) error
}

// Rules are the budgets in force and what models cost.
type Rules struct {
	Budgets []usage.Budget
	Prices  usage.Prices
}

// Options is what an engine needs. All but the last three are required.
type Options struct {
	City   City
	Store  usage.Store
	Events event.Log
	// Rules returns those in force. It is called often and must not block; what it
	// returned is not changed.
	Rules func() Rules

	// Changed is called with the sessions for which [Engine.PromptHold] answers
	// otherwise than before. It must not block. Nil: no call.
	Changed func(session string)
	Logger  *slog.Logger     // nil: nothing is logged
	Now     func() time.Time // nil: time.Now
}

// Engine is the book-keeper of one city. Its methods are safe for concurrent use.
type Engine struct {
	opts Options
	wake chan struct{} // has room for one: there is something to look at

	mu          sync.Mutex
	rules       Rules
	cache       entryCache
	loaded      bool   // the book is complete
	missing     string // why it is not
	uses        []usage.Use
	evaluatedAt time.Time
	cost        time.Duration // of the last judgement
	held        map[string]string
	unevaluated bool            // something was spent that the verdict does not know
	waiting     map[string]bool // sessions that were held for that alone
	counted     map[spender]total
	tripped     map[string]int // budgets that were used up since the engine began, by name
}

// New returns an engine that does nothing until [Engine.Run].
func New(opts Options) *Engine {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Engine{
		opts: opts, wake: make(chan struct{}, 1), rules: opts.Rules(), missing: "it has not been read yet", held: map[string]string{}, waiting: map[string]bool{},
		counted: map[spender]total{}, tripped: map[string]int{},
	}
}

// SessionChanged says that a session has changed. It never blocks.
func (e *Engine) SessionChanged(string) { e.wakeLoop() }

func (e *Engine) wakeLoop() {
	select {
	case e.wake <- struct{}{}:
	default: // it is going to look
	}
}

// Spend keeps what was spent and returns how many entries reported anything new. When it returns,
// a budget that is used up by them is in force; where judging is put off to spare the processor,
// every agent that a budget could hold is held until it is done. What the store did not take is an
// error, and was not answered for: it is to come again.
func (e *Engine) Spend(ctx context.Context, entries []usage.Entry) (int, error) {
	kept, err := e.opts.Store.PutUsage(ctx, entries)
	e.mu.Lock()
	changed := e.applySavedLocked(kept, err)
	due := e.loaded && !e.dueLocked().After(e.opts.Now())
	e.unevaluated = e.unevaluated || changed > 0
	e.mu.Unlock()
	if due && changed > 0 {
		e.evaluate(e.opts.City.Snapshots())
	}
	e.wakeLoop()
	return changed, err
}

// applySavedLocked takes over what the store has. When it failed, the content of the store
// is unknown.
func (e *Engine) applySavedLocked(kept []usage.StoreResult, err error) (changed int) {
	if err != nil {
		e.cache.stale = true
		return 0
	}
	for _, k := range kept {
		e.cache.put(k.After, e.rules.Prices)
		if k.Changed() {
			changed++
			e.countLocked(k)
		}
	}
	return changed
}

// pace bounds the part of a processor that judging takes, as one in so many.
const pace = 20

// dueLocked returns when to judge again at the earliest.
func (e *Engine) dueLocked() time.Time { return e.evaluatedAt.Add(pace * e.cost) }

// evaluate compares what is known with the budgets, and puts the verdict into force.
func (e *Engine) evaluate(views []session.Snapshot) {
	e.mu.Lock()
	began := time.Now()
	now := e.opts.Now()
	if timed(e.rules.Budgets) {
		e.cache.growing(now)
	}
	e.uses = usage.Uses(e.rules.Budgets, e.cache.list(now), e.cache.busy(views), e.rules.Prices, now)
	e.evaluatedAt, e.cost, e.unevaluated = now, time.Since(began), false
	changed := e.updateHeldLocked(views)
	for name := range e.waiting {
		if e.held[name] == "" && !slices.Contains(changed, name) {
			changed = append(changed, name)
		}
	}
	clear(e.waiting)
	e.mu.Unlock()
	e.notifyChanged(changed)
}

func (e *Engine) notifyChanged(sessions []string) {
	if e.opts.Changed == nil {
		return
	}
	for _, name := range sessions {
		e.opts.Changed(name)
	}
}

// PromptHold returns why a session gets no new prompts; empty: it may have them. It never
// blocks for long.
func (e *Engine) PromptHold(v session.Snapshot) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	why := e.promptHoldLocked(v)
	if why == "" && e.unevaluated && e.canHoldLocked(v) {
		e.waiting[v.Session] = true
		return "what was just spent is being counted"
	}
	return why
}

// canHoldLocked reports whether a budget could hold a session.
func (e *Engine) canHoldLocked(v session.Snapshot) bool {
	return slices.ContainsFunc(e.rules.Budgets, func(b usage.Budget) bool {
		return b.Act.Severity() >= usage.ActHold.Severity() && b.AppliesTo(v.Session, v.Agent)
	})
}

// IsHeld reports whether a session gets no new prompts, as [Engine.PromptHold] says it of the
// view that it was last judged by.
func (e *Engine) IsHeld(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held[name] != ""
}

func (e *Engine) promptHoldLocked(v session.Snapshot) string {
	if !e.loaded {
		for _, b := range e.rules.Budgets {
			if b.Act.Severity() >= usage.ActHold.Severity() && b.AppliesTo(v.Session, v.Agent) {
				return fmt.Sprintf("budget %s: what was spent is not known: %s", b.Name, e.missing)
			}
		}
		return ""
	}
	act, use := usage.Worst(e.uses, v.Session, v.Agent)
	if act.Severity() < usage.ActHold.Severity() {
		return ""
	}
	return e.inForce(use)
}

// inForce returns what is used up, and how that ends.
func (e *Engine) inForce(u usage.Use) string {
	switch {
	case u.Until.IsZero() && u.Used < u.Budget.Limit:
		return fmt.Sprintf("%s; until city.toml allows a longer silence, or: gc usage lift %s", u.Text(), u.Budget.Name)
	case u.Until.IsZero():
		return fmt.Sprintf("%s; until the limit is raised in city.toml, or: gc usage lift %s", u.Text(), u.Budget.Name)
	}
	form := "15:04:05"
	if until, now := u.Until.Local(), e.opts.Now().Local(); until.YearDay() != now.YearDay() || until.Year() != now.Year() {
		form = "2006-01-02 15:04"
	}
	return fmt.Sprintf("%s; until %s, or: gc usage lift %s", u.Text(), u.Until.Local().Format(form), u.Budget.Name)
}

// updateHeldLocked records who is held, and returns for whom that has changed.
func (e *Engine) updateHeldLocked(views []session.Snapshot) (changed []string) {
	held := make(map[string]string, len(e.held))
	for _, v := range views {
		why := e.promptHoldLocked(v)
		if why != "" {
			held[v.Session] = why
		}
		if why != e.held[v.Session] {
			changed = append(changed, v.Session)
		}
	}
	e.held = held
	return changed
}

// refresh takes the rules in force over, and reads the store again if that is needed
// for them.
func (e *Engine) refresh(ctx context.Context) error {
	rules := e.opts.Rules()
	e.mu.Lock()
	if !reflect.DeepEqual(rules, e.rules) {
		e.cache.stale = true
	}
	e.rules = rules
	fresh := e.loaded && !e.cache.stale
	e.cache.stale = false // what fails from here on makes it so again
	from := earliestCounted(rules.Budgets, e.opts.Now())
	e.mu.Unlock()
	if fresh {
		return nil
	}
	entries, err := e.opts.Store.Usage(ctx, from)
	e.mu.Lock()
	defer e.mu.Unlock()
	if unreadable(err) {
		e.cache.stale, e.missing = true, err.Error()
		return err
	}
	if err != nil {
		e.opts.Logger.Error("some of what was spent cannot be read and does not count", "error", err)
	}
	e.cache.span = spanOf(rules.Budgets)
	e.cache.replace(entries, rules.Prices)
	e.loaded, e.missing = true, ""
	return nil
}
