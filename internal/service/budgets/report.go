package budgets

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
)

// Usage returns what was spent, summed up. Days are those of this machine's zone.
func (e *Engine) Usage(ctx context.Context, req client.UsageRequest) (client.Usage, error) {
	by := usage.By(req.By)
	switch by {
	case "":
		by = usage.ByAgent
	case usage.ByAgent, usage.ByModel, usage.ByDay, usage.ByTool:
	default:
		return client.Usage{}, fmt.Errorf("%w: by is %q, none of agent, model, day, tool", client.ErrInvalid, req.By)
	}
	entries, err := e.opts.Store.Usage(ctx, req.Since)
	if unreadable(err) {
		return client.Usage{}, fmt.Errorf("cannot read the usage: %w", err)
	}
	if err != nil {
		e.opts.Logger.Error("some of what was spent cannot be read and is left out", "error", err)
	}
	prices := e.opts.Rules().Prices
	out := client.Usage{By: string(by), Since: req.Since, At: e.opts.Now(), Prices: prices.Version, Groups: []client.UsageSum{}}
	for _, s := range usage.Add(entries, prices, by, time.Local) {
		out.Groups = append(out.Groups, sum(s))
	}
	for _, s := range usage.Add(entries, prices, usage.ByAll, time.Local) {
		out.Total = sum(s)
	}
	for _, s := range usage.Add(entries, prices, usage.ByTool, time.Local) {
		out.Total.Calls, out.Total.Failed = out.Total.Calls+s.Calls, out.Total.Failed+s.Failed
		out.Total.ToolSeconds += time.Duration(s.TookNS).Seconds()
	}
	return out, nil
}

// sum returns a sum in the terms of the client: an unknown cost is nil.
func sum(s usage.Sum) client.UsageSum {
	out := client.UsageSum{
		Group: s.Group, Responses: s.Responses, Turns: s.Turns, Untold: s.Tokens.Unknown, Unpriced: s.Unpriced,
		Tokens: client.UsageTokens{
			Input: s.Tokens.Input, CacheRead: s.Tokens.CacheRead, CacheWrite: s.Tokens.CacheWrite, Output: s.Tokens.Output, Reasoning: s.Tokens.Reasoning,
		},
		Calls: s.Calls, Failed: s.Failed, ToolSeconds: time.Duration(s.TookNS).Seconds(),
	}
	if s.Responses > s.Unpriced {
		out.CostUSD = &s.CostUSD
	}
	if s.First != nil {
		out.First, out.Last = *s.First, *s.Last
	}
	return out
}

// Budgets returns how much of each budget is used, the ones that are used up first.
func (e *Engine) Budgets(context.Context) ([]client.Budget, error) {
	e.mu.Lock()
	loaded, missing := e.loaded, e.missing
	e.mu.Unlock()
	if !loaded {
		return nil, fmt.Errorf("%w: what was spent is not known: %s", client.ErrUnavailable, missing)
	}
	e.evaluate(e.opts.City.Snapshots()) // what a window has left since the last time does not count
	e.mu.Lock()
	defer e.mu.Unlock()
	out := shown(e.uses)
	slices.SortStableFunc(out, func(a, b client.Budget) int {
		switch {
		case a.Over == b.Over:
			return 0
		case a.Over:
			return -1
		}
		return 1
	})
	return out, nil
}

func shown(uses []usage.Use) []client.Budget {
	out := make([]client.Budget, 0, len(uses))
	for _, u := range uses {
		out = append(out, client.Budget{
			Name: u.Budget.Name, Scope: string(u.Budget.Scope), Who: u.Who, Measure: string(u.Budget.Measure), Used: u.Used, Limit: u.Budget.Limit,
			Window: u.Budget.Window.Seconds(), Act: string(u.Budget.Act), Over: u.Over, Unknown: u.Unknown, Until: u.Until, Text: u.Text(),
		})
	}
	return out
}

// LiftBudget lets a budget begin again, for one who has used it up or for all.
func (e *Engine) LiftBudget(ctx context.Context, name string, req client.LiftRequest) (client.Done, error) {
	now := e.opts.Now()
	e.mu.Lock()
	known := slices.ContainsFunc(e.rules.Budgets, func(b usage.Budget) bool { return b.Name == name })
	var lifted []usage.Use
	for _, u := range e.uses {
		if u.Budget.Name == name && u.Over && (req.Who == "" || req.Who == u.Who) {
			lifted = append(lifted, u)
		}
	}
	e.mu.Unlock()
	switch {
	case !known:
		return client.Done{}, fmt.Errorf("%w: there is no budget %q; gc usage budgets lists them", client.ErrNotFound, name)
	case len(lifted) == 0:
		return client.Done{Detail: "it is not used up"}, nil
	}
	var entries []usage.Entry
	for _, u := range lifted {
		entry := usage.Entry{Run: "city", Message: fmt.Sprintf("lift %s %s %d", name, u.Who, now.UnixNano()), At: now, Source: ownSource, Lift: name}
		switch u.Budget.Scope {
		case usage.ScopeSession:
			entry.Session, entry.Agent = u.Who, e.agentOf(u.Who)
		case usage.ScopeAgent:
			entry.Agent = u.Who
		case usage.ScopeCity:
		}
		entries = append(entries, entry)
	}
	if _, err := e.Spend(ctx, entries); err != nil {
		return client.Done{}, fmt.Errorf("the budget is not lifted: %w", err)
	}
	for _, u := range lifted {
		e.record(event.BudgetLifted, u, "the budget "+name+" was reset", nil)
	}
	return client.Done{Changed: true, Detail: fmt.Sprintf("lifted for %d", len(lifted))}, nil
}

func (e *Engine) agentOf(name string) string {
	for _, v := range e.opts.City.Snapshots() {
		if v.Session == name {
			return v.Agent
		}
	}
	return ""
}

// Status adds to a status what is spent and which budgets are used up. The agents
// of the status are changed.
func (e *Engine) Status(s *client.Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.opts.Now()
	burns := map[string]*burn{}
	var city burn
	for _, entry := range e.cache.entries {
		if e.cache.recent(entry, now) {
			city.add(entry, e.rules.Prices)
			of(burns, entry.Session).add(entry, e.rules.Prices)
		}
	}
	s.Burn = city.shown(now)
	for i := range s.Agents {
		a := &s.Agents[i]
		a.Burn, a.Held = of(burns, a.Session).shown(now), e.agentHoldLocked(a)
	}
	s.Budgets = nil
	for _, b := range shown(e.uses) {
		if b.Over {
			s.Budgets = append(s.Budgets, b)
		}
	}
}

func (e *Engine) agentHoldLocked(a *client.Agent) string {
	return e.promptHoldLocked(session.Snapshot{Session: a.Session, Agent: a.Name})
}

// Explain adds to an explanation what binds the agent.
func (e *Engine) Explain(x *client.Explanation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x.Agent.Held = e.agentHoldLocked(&x.Agent)
	var bind []usage.Use
	for _, u := range e.uses {
		if u.AppliesTo(x.Agent.Session, x.Agent.Name) {
			bind = append(bind, u)
		}
	}
	x.Budgets = shown(bind)
}

// recent reports whether an entry counts for the speed of spending.
func (b *entryCache) recent(e usage.Entry, now time.Time) bool {
	return e.Busy == 0 && e.Silent == 0 && e.Lift == "" && now.Sub(e.At) < burning
}

// burn is what was spent of late.
type burn struct {
	first                time.Time
	tokens               int64
	usd                  float64
	counted, priced, all int
}

func of(burns map[string]*burn, name string) *burn {
	if burns[name] == nil {
		burns[name] = &burn{}
	}
	return burns[name]
}

func (b *burn) add(e usage.Entry, prices usage.Prices) {
	if e.Model == "" && e.Cost == nil && e.Tokens == (usage.Tokens{}) {
		return // a turn or tools, and no response
	}
	if b.all++; b.first.IsZero() || e.At.Before(b.first) {
		b.first = e.At
	}
	if n, known := e.Tokens.Fresh(); known {
		b.tokens += n
		b.counted++
	}
	if cost, source := prices.Cost(e); source != usage.CostUnknown {
		b.usd += cost
		b.priced++
	}
}

// shown returns the speed since the first of it, of a minute at least.
func (b *burn) shown(now time.Time) *client.Burn {
	if b.all == 0 {
		return nil
	}
	over := max(now.Sub(b.first), time.Minute)
	out := &client.Burn{Partial: b.counted < b.all, Unpriced: b.priced < b.all}
	if b.counted > 0 {
		v := float64(b.tokens) / over.Minutes()
		out.TokensPerMinute = &v
	}
	if b.priced > 0 {
		v := b.usd / over.Hours()
		out.USDPerHour = &v
	}
	return out
}
