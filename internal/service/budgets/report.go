package budgets

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
)

// Usage returns the usage since req.Since, in groups. Hours and days are those of this machine's time zone.
func (e *Engine) Usage(ctx context.Context, req client.UsageRequest) (client.Usage, error) {
	by := usage.By(req.By)
	switch by {
	case "":
		by = usage.ByAgent
	case usage.ByAgent, usage.ByModel, usage.ByHour, usage.ByDay, usage.ByTool:
	default:
		return client.Usage{}, fmt.Errorf("%w: by is %q, none of agent, model, hour, day, tool", client.ErrInvalid, req.By)
	}
	entries, err := e.opts.Store.Usage(ctx, req.Since)
	if unreadable(err) {
		return client.Usage{}, fmt.Errorf("cannot read the usage: %w", err)
	}
	if err != nil {
		e.opts.Logger.Error("cannot read some usage entries; they are left out", "error", err)
	}
	if req.Target != "" {
		entries = slices.DeleteFunc(slices.Clone(entries), func(u usage.Entry) bool { return u.Agent != req.Target && u.Session != req.Target })
		if len(entries) == 0 && !slices.ContainsFunc(e.opts.City.Snapshots(), func(v session.Snapshot) bool { return v.Agent == req.Target || v.Session == req.Target }) {
			return client.Usage{}, fmt.Errorf("%w: no agent or session is called %q; gc status lists them", client.ErrNotFound, req.Target)
		}
	}
	prices := e.opts.Rules().Prices
	out := client.Usage{By: string(by), Target: req.Target, Since: req.Since, At: e.opts.Now(), Prices: prices.Version, Groups: []client.UsageSum{}}
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

// sum converts the usage of one group to the form of the control API.
func sum(s usage.Sum) client.UsageSum {
	out := client.UsageSum{
		Group: s.Group, Responses: s.Responses, Turns: s.Turns, Untold: s.Tokens.Unknown, Unpriced: s.Unpriced,
		Tokens: client.UsageTokens(s.Tokens.Tokens), Calls: s.Calls, Failed: s.Failed, ToolSeconds: time.Duration(s.TookNS).Seconds(),
	}
	if s.Responses > s.Unpriced {
		out.CostUSD = &s.CostUSD
	}
	if s.First != nil {
		out.First, out.Last = *s.First, *s.Last
	}
	return out
}

// Budgets returns how much of each budget is used. Budgets that are used up come first.
func (e *Engine) Budgets(context.Context) ([]client.Budget, error) {
	e.mu.Lock()
	loaded, missing := e.loaded, e.missing
	e.mu.Unlock()
	if !loaded {
		return nil, fmt.Errorf("%w: the usage is not known: %s", client.ErrUnavailable, missing)
	}
	e.evaluate(e.opts.City.Snapshots()) // entries may have left a window since the last evaluation
	e.mu.Lock()
	defer e.mu.Unlock()
	out := shown(e.uses)
	slices.SortStableFunc(out, func(a, b client.Budget) int { return cmp.Compare(truth(b.Over), truth(a.Over)) })
	return out, nil
}

// shown converts the state of budgets to the form of the control API.
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

// LiftBudget resets a budget that is used up, for req.Who, or for everyone who has used it up if
// req.Who is empty.
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
		e.record(ctx, event.BudgetLifted, u, "the budget "+name+" was reset", nil)
	}
	return client.Done{Changed: true, Detail: fmt.Sprintf("lifted for %d", len(lifted))}, nil
}

// agentOf returns the agent of a session, or an empty string.
func (e *Engine) agentOf(name string) string {
	for _, v := range e.opts.City.Snapshots() {
		if v.Session == name {
			return v.Agent
		}
	}
	return ""
}

// Status adds the burn rates, the holds and the used-up budgets to a status. It changes the
// elements of s.Agents.
func (e *Engine) Status(s *client.Status) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.opts.Now()
	burns := map[string]*burn{}
	var city burn
	for _, entry := range e.cache.entries {
		if isRecent(entry, now) {
			city.add(entry, e.rules.Prices)
			burnOf(burns, entry.Session).add(entry, e.rules.Prices)
		}
	}
	s.Burn = city.rate(now)
	for i := range s.Agents {
		a := &s.Agents[i]
		a.Burn, a.Held = burnOf(burns, a.Session).rate(now), e.agentHoldLocked(a)
	}
	s.Budgets = nil
	for _, b := range shown(e.uses) {
		if b.Over {
			s.Budgets = append(s.Budgets, b)
		}
	}
}

// agentHoldLocked returns why the budgets give an agent no new prompts; empty if they allow them. The caller holds mu.
func (e *Engine) agentHoldLocked(a *client.Agent) string {
	return e.promptHoldLocked(session.Snapshot{Session: a.Session, Agent: a.Name})
}

// Explain adds the budgets of the agent, and whether they hold it, to an explanation.
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

// isRecent reports whether a usage entry is new enough to count for the burn rate (usage per minute), and is about responses of a
// model.
func isRecent(e usage.Entry, now time.Time) bool {
	return e.Busy == 0 && e.Silent == 0 && e.Lift == "" && now.Sub(e.At) < burning
}

// burn is the usage within the last burning minutes.
type burn struct {
	first                time.Time
	tokens               int64
	usd                  float64
	counted, priced, all int
}

// burnOf returns the entry of a session in burns, from which its burn rate is computed. It adds one if there is none.
func burnOf(burns map[string]*burn, name string) *burn {
	if burns[name] == nil {
		burns[name] = &burn{}
	}
	return burns[name]
}

// add adds the usage of one entry to the burn rate.
func (b *burn) add(e usage.Entry, prices usage.Prices) {
	if e.Model == "" && e.Cost == nil && e.Tokens == (usage.Tokens{}) {
		return // the entry reports a turn or tools, not a response
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

// rate returns the tokens per minute and the dollars per hour since the first entry, or nil if there is no entry. A time of less
// than a minute counts as one minute.
func (b *burn) rate(now time.Time) *client.Burn {
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
