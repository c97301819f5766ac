// Package budgets records the usage of agents and enforces budgets. It evaluates the budgets on
// every usage report and at their next deadline, and asks the city to hold or stop agents. It needs
// no agent and no model for that.
//
// All results follow from the usage entries in the store. The engine adds its own entries for what
// is not reported: the working time of an agent, and how long an agent sends no usage reports. So
// another controller comes to the same results.
//
// Until the entries have been read, an agent with a budget that holds prompts gets no prompts.
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
	"gascity/internal/service/engine"
)

// City is the controller, as the engine uses it. Its methods may be called concurrently.
// [Engine.SessionChanged], [Engine.Spend] and [Engine.PromptHold] do not call them.
type City interface {
	// Snapshots returns the snapshots of all sessions.
	Snapshots() []session.Snapshot
	// Interrupt asks an instance to end its turn.
	Interrupt(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error)
	// Withhold stops a session and keeps it stopped until [City.Allow]. This is not a failure of
	// the session. The request is saved when Withhold returns. until is shown to people; zero means
	// unknown.
	Withhold(ctx context.Context, name, reason string, until time.Time) error
	// Allow ends the effect of Withhold. If Withhold has no effect on the session, Allow does
	// nothing.
	Allow(ctx context.Context, name, reason string) error
}

// Rules are the configured budgets and the prices of models.
type Rules struct {
	Budgets []usage.Budget
	Prices  usage.Prices
}

// Options are the dependencies of an engine. All fields are required.
type Options struct {
	City   City
	Store  usage.Store
	Events event.Log
	// Rules returns the current rules. It is called often and must not block. The engine does not
	// change the result.
	Rules func() Rules

	// Changed is called with each session for which the result of [Engine.PromptHold] has changed.
	// It must not block.
	Changed func(session string)
	Logger  *slog.Logger
	Now     func() time.Time
}

// Engine records usage and evaluates the budgets of one city. Its methods are safe for concurrent
// use.
type Engine struct {
	opts Options
	wake engine.Signal // the loop must run

	mu          sync.Mutex
	rules       Rules
	cache       entryCache
	loaded      bool   // the cache contains the entries of the store
	missing     string // why it does not
	uses        []usage.Use
	evaluatedAt time.Time
	cost        time.Duration // duration of the last evaluation
	held        map[string]string
	unevaluated bool            // usage was added after the last evaluation
	waiting     map[string]bool // sessions that are held only because of unevaluated
	counted     map[spender]total
	tripped     map[string]int // how often a budget was used up since the start of the engine, by name
}

// New returns an engine that does nothing until [Engine.Run] is called.
func New(opts Options) *Engine {
	return &Engine{
		opts: opts, wake: engine.NewSignal(), rules: opts.Rules(), missing: "it has not been read yet", held: map[string]string{}, waiting: map[string]bool{},
		counted: map[spender]total{}, tripped: map[string]int{},
		cache: entryCache{entries: map[usage.Key]usage.Entry{}, unsaved: map[usage.Key]usage.Entry{}, working: map[string]*busyPeriod{}},
	}
}

// SessionChanged makes the loop check the sessions. It never blocks.
func (e *Engine) SessionChanged(string) { e.wake.Wake() }

// Spend stores usage entries and returns how many of them were new or changed. When Spend
// returns, a budget that they have used up has its effect. If the evaluation of the budgets is
// postponed to save processor time, every agent that a budget could hold is held until the evaluation
// is done. If the store fails, Spend returns an
// error and the caller must repeat the call.
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
	e.wake.Wake()
	return changed, err
}

// applySavedLocked adds entries that the store has saved to the cache, and returns how many of them
// were new or changed. If err says that the store failed, the cache is marked as out of date. The
// caller holds mu.
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

const (
	// pace limits the processor time of evaluations to one part in pace.
	pace = 20
	// longestPace is the longest pause for that. An evaluation takes much longer than its processor time if the machine is
	// overloaded or was asleep during it.
	longestPace = 10 * time.Second
)

// dueLocked returns the earliest time of the next evaluation: evaluations use at most one part in
// [pace] of the processor time. The caller holds mu.
func (e *Engine) dueLocked() time.Time { return e.evaluatedAt.Add(min(pace*e.cost, longestPace)) }

// evaluate computes how much of each budget is used, and which sessions get no new prompts because
// of that. It calls Options.Changed for each session for which that changed.
func (e *Engine) evaluate(views []session.Snapshot) {
	e.mu.Lock()
	began := time.Now()
	now := e.opts.Now()
	if timed(e.rules.Budgets) {
		e.cache.addGrowing(now)
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

// notifyChanged calls Options.Changed for each session.
func (e *Engine) notifyChanged(sessions []string) {
	for _, name := range sessions {
		e.opts.Changed(name)
	}
}

// PromptHold returns why a session gets no new prompts, or an empty string if it may get them. It
// does not wait for other programs.
func (e *Engine) PromptHold(v session.Snapshot) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	why := e.promptHoldLocked(v)
	if why == "" && e.unevaluated && e.holdingBudgetLocked(v) >= 0 {
		e.waiting[v.Session] = true
		return "the latest usage is being counted"
	}
	return why
}

// holdingBudgetLocked returns the index of the first budget that holds the prompts of this session if it is used up; -1 if there
// is none. The caller holds mu.
func (e *Engine) holdingBudgetLocked(v session.Snapshot) int {
	return slices.IndexFunc(e.rules.Budgets, func(b usage.Budget) bool {
		return b.Act.Severity() >= usage.ActHold.Severity() && b.AppliesTo(v.Session, v.Agent)
	})
}

// IsHeld reports whether a session was held at the last evaluation, see [Engine.PromptHold].
func (e *Engine) IsHeld(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held[name] != ""
}

// promptHoldLocked returns why a session gets no new prompts according to the last evaluation;
// empty if it may get them. The caller holds mu.
func (e *Engine) promptHoldLocked(v session.Snapshot) string {
	if !e.loaded {
		if at := e.holdingBudgetLocked(v); at >= 0 {
			return fmt.Sprintf("budget %s: the usage is not known: %s", e.rules.Budgets[at].Name, e.missing)
		}
		return ""
	}
	act, use := usage.Worst(e.uses, v.Session, v.Agent)
	if act.Severity() < usage.ActHold.Severity() {
		return ""
	}
	return e.holdReason(use)
}

// holdReason describes for people which budget is used up, and what ends that.
func (e *Engine) holdReason(u usage.Use) string {
	end := "the limit is raised in city.toml"
	switch until, now := u.Until.Local(), e.opts.Now().Local(); {
	case u.Until.IsZero() && u.Used < u.Budget.Limit:
		end = "city.toml allows a longer silence"
	case u.Until.IsZero():
	case until.YearDay() == now.YearDay() && until.Year() == now.Year():
		end = until.Format("15:04:05")
	default:
		end = until.Format("2006-01-02 15:04")
	}
	return fmt.Sprintf("%s; held until %s; to end it now: gc usage lift %s", u.Text(), end, u.Budget.Name)
}

// updateHeldLocked records which sessions get no new prompts, and returns those for which that has
// changed. The caller holds mu.
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

// refresh loads the current rules, and reads the store again if the rules have changed or the cache
// is out of date.
func (e *Engine) refresh(ctx context.Context) error {
	rules := e.opts.Rules()
	e.mu.Lock()
	if !reflect.DeepEqual(rules, e.rules) {
		e.cache.stale = true
	}
	e.rules = rules
	fresh := e.loaded && !e.cache.stale
	e.cache.stale = false // a later failure sets it again
	e.mu.Unlock()
	if fresh {
		return nil
	}
	span := spanOf(rules.Budgets)
	var from time.Time
	if span > 0 {
		from = e.opts.Now().Add(-span)
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	entries, err := e.opts.Store.Usage(ctx, from)
	e.mu.Lock()
	defer e.mu.Unlock()
	if unreadable(err) {
		e.cache.stale, e.missing = true, err.Error()
		return err
	}
	if err != nil {
		e.opts.Logger.Error("cannot read some usage entries; they do not count", "error", err)
	}
	e.cache.span = span
	e.cache.replace(entries, rules.Prices)
	e.loaded, e.missing = true, ""
	return nil
}
