package config

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Usage is the [usage] section: token prices and budgets.
type Usage struct {
	Keys
	Prices  string   `toml:"prices" doc:"File with the table of prices; relative to the city. Default: the built-in table."`
	Budgets []Budget `toml:"budgets" doc:"Limits for the usage of agents."`
}

// Budget is a [[usage.budgets]] section: a limit for the usage of agents.
type Budget struct {
	Keys
	Name    string        `toml:"name" doc:"The budget's name; unique."`
	Scope   BudgetScope   `toml:"scope" default:"agent" doc:"What is added up: the usage of each session, of each agent, or of the whole city."`
	Match   string        `toml:"match" doc:"Only agents or sessions whose name matches the pattern; * matches any text without a slash. Default: all."`
	Measure BudgetMeasure `toml:"measure" doc:"What is counted: tokens, US dollars, turns, or the time in which an agent is busy."`
	Limit   Amount        `toml:"limit" doc:"The limit: a number, or a duration if the time of the agents is measured."`
	Window  time.Duration `toml:"window" doc:"Only usage within this time counts. Default: all stored usage."`
	Act     BudgetAct     `toml:"act" default:"warn" doc:"What happens when the budget is used up. warn: people are warned; hold: new prompts are held; interrupt: the turn is interrupted and new prompts are held; stop: the session is stopped until the budget allows it again."`
	Cached  bool          `toml:"cached" doc:"If true, tokens that are read from the model provider's cache count too."`
	Silence time.Duration `toml:"silence" doc:"How long an agent may work without a usage report before the budget counts as used up. Default: no limit."`
}

// BudgetScope says whose usage is added up for one budget.
type BudgetScope string

// The scopes.
const (
	ScopeSession BudgetScope = "session"
	ScopeAgent   BudgetScope = "agent"
	ScopeCity    BudgetScope = "city"
)

// Words returns the values that a BudgetScope may have in city.toml.
func (BudgetScope) Words() []string { return texts(ScopeSession, ScopeAgent, ScopeCity) }

// BudgetMeasure says what a budget counts.
type BudgetMeasure string

// The measures.
const (
	MeasureTokens BudgetMeasure = "tokens"
	MeasureUSD    BudgetMeasure = "usd"
	MeasureTurns  BudgetMeasure = "turns"
	MeasureTime   BudgetMeasure = "time" // time in which an agent is busy; its limits are durations
)

// Words returns the values that a BudgetMeasure may have in city.toml.
func (BudgetMeasure) Words() []string {
	return texts(MeasureTokens, MeasureUSD, MeasureTurns, MeasureTime)
}

// BudgetAct says what happens when the limit of a budget is reached.
type BudgetAct string

// The actions, the mildest first.
const (
	ActWarn      BudgetAct = "warn"
	ActHold      BudgetAct = "hold"      // new prompts wait
	ActInterrupt BudgetAct = "interrupt" // the turn is interrupted, and new prompts wait
	ActStop      BudgetAct = "stop"      // the session is stopped until the budget allows it again
)

// Words returns the values that a BudgetAct may have in city.toml.
func (BudgetAct) Words() []string { return texts(ActWarn, ActHold, ActInterrupt, ActStop) }

// Amount is the limit of a budget: a number or a duration. In the zero value, there is no limit.
type Amount struct {
	Value float64       // of a number
	Span  time.Duration // of a duration
}

// String returns the limit as it is written in city.toml.
func (a Amount) String() string {
	if a.Span > 0 {
		return QuoteTOML(a.Span.String())
	}
	return strconv.FormatFloat(a.Value, 'f', -1, 64)
}

// amount decodes the limit of a budget, the value n of the key name.
func (d *decoder) amount(n *node, name string) (a Amount) {
	var err error
	switch n.kind {
	case stringKind:
		if a.Span, err = parseDuration(n.text); err != nil {
			d.fail(n.at, `write a number or, with measure = "time", a duration such as "2h"`, "%s: %v", name, err)
		}
	case integerKind:
		var whole int64
		whole, err = strconv.ParseInt(n.text, 0, 64)
		if a.Value = float64(whole); err != nil {
			d.fail(n.at, "", "%s: %s is not a number in the valid range", name, n.text)
		}
	case floatKind:
		if a.Value, err = strconv.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 64); err != nil {
			d.fail(n.at, "", "%s: %s is not a number in the valid range", name, n.text)
		}
	default:
		d.fail(n.at, "", "%s must be a number or a duration, not %s", name, n.kind)
	}
	return a
}

// usage checks the [usage] table with its budgets.
func (c *checker) usage() {
	u := &c.city.Usage
	c.file(u.Origin("prices"), "prices", u.Prices)
	seen := map[string]Origin{}
	for i := range u.Budgets {
		b := &u.Budgets[i]
		if c.name(b.Keys, b.Name) {
			c.unique(seen, b.Origin("name"), "budgets named", b.Name)
		}
		c.budget(b)
	}
}

// budget checks a [[usage.budgets]] table.
func (c *checker) budget(b *Budget) {
	if !b.Has("measure") {
		c.fail(b.Header(), `add measure = "tokens", "usd", "turns" or "time"`, "the budget %q does not say what it counts", b.Name)
	}
	c.limit(b)
	c.positive(b.Keys, "window", int64(b.Window))
	c.positive(b.Keys, "silence", int64(b.Silence))
	if _, err := path.Match(b.Match, ""); err != nil {
		c.fail(b.Origin("match"), "close each [ with a ]", "%q is not a valid pattern", b.Match)
	}
	switch {
	case b.Match != "" && b.Scope == ScopeCity:
		c.fail(b.Origin("match"), `remove it, or write scope = "agent"`, "match has no effect: a budget of the whole city is for all agents")
	case b.Cached && b.Measure != "tokens":
		c.fail(b.Origin("cached"), `remove it, or write measure = "tokens"`, "cached has no effect on a budget that counts %s", b.Measure)
	}
	if b.Match != "" && b.Scope == ScopeAgent && !c.matchesAgent(b.Match) {
		c.fail(b.Origin("match"), suggest(b.Match, c.agentNames()), "no agent is called %q", b.Match)
	}
}

// limit checks that the limit of a budget fits what it counts: a duration for time, and a number
// above zero for everything else.
func (c *checker) limit(b *Budget) {
	at := b.Origin("limit")
	timed := b.Measure == MeasureTime
	switch {
	case !b.Has("limit"):
		c.fail(b.Header(), "add limit = ...", "the budget %q has no limit", b.Name)
	case timed && b.Limit.Span <= 0:
		c.fail(at, `write it like "2h"`, "the limit of a budget that counts time must be a duration above zero")
	case !timed && b.Measure != "" && b.Limit.Span > 0:
		c.fail(at, `write a number, or measure = "time"`, "the limit of a budget that counts %s must be a number, not a duration", b.Measure)
	case !timed && b.Limit.Span == 0 && !(b.Limit.Value > 0 && b.Limit.Value <= 1e18):
		c.fail(at, `write suspended = true for an agent that must not run`, "the limit of a budget must be a number above zero")
	case b.Measure == "turns" && b.Limit.Value < 1:
		c.fail(at, "", "the limit of a budget that counts turns must be at least 1")
	}
}

// agentNames returns the names of all agents, and of all members of pools.
func (c *checker) agentNames() []string {
	var names []string
	for i := range c.city.Agents {
		a := &c.city.Agents[i]
		names = append(names, a.QualifiedName())
		if scale, ok := a.Scale(); ok {
			for number := range min(scale.Max, maxMembers) {
				member := a.Member(number + 1)
				names = append(names, member.QualifiedName())
			}
		}
	}
	return names
}

// matchesAgent reports whether an agent or a member of a pool has a name that the pattern matches.
// It returns true for an invalid pattern, which is reported elsewhere.
func (c *checker) matchesAgent(pattern string) bool {
	return slices.ContainsFunc(c.agentNames(), func(name string) bool {
		fits, err := path.Match(pattern, name)
		return err != nil || fits // an invalid pattern is reported separately
	})
}
