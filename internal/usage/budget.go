package usage

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Measure is what a budget limits.
type Measure string

// The measures.
const (
	MeasureTokens Measure = "tokens"
	MeasureUSD    Measure = "usd"
	MeasureTurns  Measure = "turns"
	MeasureTime   Measure = "time" // seconds in which an agent was busy
)

// Act is what happens when a budget is used up.
type Act string

// The acts, the mildest first.
const (
	ActWarn      Act = "warn"
	ActHold      Act = "hold"      // new prompts wait
	ActInterrupt Act = "interrupt" // the turn is ended, and new prompts wait
	ActStop      Act = "stop"      // the session is stopped and held
)

func (a Act) severity() int {
	switch a {
	case ActWarn:
		return 1
	case ActHold:
		return 2
	case ActInterrupt:
		return 3
	case ActStop:
		return 4
	}
	return 0
}

// Budget is a limit over a rolling window.
type Budget struct {
	Name    string
	Scope   Scope
	Match   string // the agent or session that it is for; empty is each of them
	Measure Measure
	Limit   float64
	Window  time.Duration // zero is for ever
	Act     Act
	Cached  bool // tokens read from the cache count too
	// Silence is how long an agent may be busy without telling what it spends, before
	// the budget counts as used up. Zero is as long as it likes.
	Silence time.Duration
}

// Scope is whose spending a budget adds up.
type Scope string

// The scopes.
const (
	ScopeSession Scope = "session"
	ScopeAgent   Scope = "agent"
	ScopeCity    Scope = "city"
)

// Busy is what is known of a session that spends time and perhaps more.
type Busy struct {
	Session, Agent string
	Since          time.Time     // it has been busy; zero: it is not
	Told           time.Time     // when it last told what it spends; zero: never
	Spent          time.Duration // busy in the window, without the time since Since
}

// Breach is a budget that is used up by somebody.
type Breach struct {
	Budget Budget
	Who    string // a session, an agent, or empty for the city
	Used   float64
	// Unknown says that it is more than Used: responses without numbers, or silence.
	Unknown string
	Until   time.Time // when enough of it will have left the window, if nothing more is spent; zero is never
}

// Text says what is used up, in one line.
func (b Breach) Text() string {
	text := fmt.Sprintf("budget %s: %.4g of %.4g %s", b.Budget.Name, b.Used, b.Budget.Limit, b.Budget.Measure)
	if b.Budget.Window > 0 {
		text += " in " + b.Budget.Window.String()
	}
	if b.Unknown != "" {
		text += "; " + b.Unknown
	}
	return text
}

// Breaches compares spending with budgets. entries need not be sorted.
func Breaches(budgets []Budget, entries []Entry, busy []Busy, prices Prices, now time.Time) []Breach {
	var out []Breach
	for _, b := range budgets {
		accounts := map[string]*account{}
		of := func(session, agent string) *account {
			who, ok := b.who(session, agent)
			if !ok {
				return nil
			}
			if accounts[who] == nil {
				accounts[who] = &account{who: who}
			}
			return accounts[who]
		}
		for _, e := range entries {
			if a := of(e.Session, e.Agent); a != nil && (b.Window == 0 || e.At.After(now.Add(-b.Window))) {
				a.entry(b, e, prices)
			}
		}
		for _, s := range busy {
			if a := of(s.Session, s.Agent); a != nil {
				a.busy(b, s, now)
			}
		}
		for _, a := range accounts {
			if breach, ok := a.breach(b); ok {
				out = append(out, breach)
			}
		}
	}
	return out
}

// who is the account that a session's spending goes to.
func (b Budget) who(session, agent string) (string, bool) {
	switch b.Scope {
	case ScopeSession:
		return session, b.Match == "" || b.Match == session || b.Match == agent
	case ScopeAgent:
		return agent, b.Match == "" || b.Match == agent
	case ScopeCity:
	}
	return "", true
}

// account adds up for one budget and one spender.
type account struct {
	who     string
	used    float64
	unknown int
	silent  string
	spends  []spend
}

type spend struct {
	at     time.Time
	amount float64
}

func (a *account) entry(b Budget, e Entry, prices Prices) {
	amount, known := 0.0, true
	switch b.Measure {
	case MeasureTokens:
		var n int64
		if n, known = e.Tokens.Fresh(); b.Cached {
			n, known = e.Tokens.Total()
		}
		amount = float64(n)
	case MeasureUSD:
		var source CostSource
		amount, source = prices.Cost(e)
		known = source != CostUnknown
	case MeasureTurns:
		if e.Turn {
			amount = 1
		}
	case MeasureTime:
	}
	if !known && (e.Model != "" || e.Tokens != (Tokens{})) {
		a.unknown++
	}
	a.used += amount
	a.spends = append(a.spends, spend{e.At, amount})
}

func (a *account) busy(b Budget, s Busy, now time.Time) {
	if b.Measure == MeasureTime {
		a.used += s.Spent.Seconds()
		if !s.Since.IsZero() {
			a.used += now.Sub(s.Since).Seconds()
		}
	}
	last := s.Since
	if s.Told.After(last) {
		last = s.Told
	}
	if b.Silence > 0 && !s.Since.IsZero() && now.Sub(last) >= b.Silence {
		a.silent = fmt.Sprintf("%s has been busy for %s without telling what it spends", cmp.Or(s.Agent, s.Session), now.Sub(last).Round(time.Second))
	}
}

func (a *account) breach(b Budget) (Breach, bool) {
	if a.used < b.Limit && a.silent == "" {
		return Breach{}, false
	}
	out := Breach{Budget: b, Who: a.who, Used: a.used, Unknown: a.silent, Until: a.until(b)}
	if out.Unknown == "" && a.unknown > 0 {
		out.Unknown = fmt.Sprintf("%d responses told no numbers", a.unknown)
	}
	return out, true
}

// until is when so much has left the window that the rest is below the limit.
func (a *account) until(b Budget) time.Time {
	if b.Window == 0 || a.used < b.Limit || b.Measure == MeasureTime {
		return time.Time{}
	}
	left := a.used
	for _, s := range sorted(a.spends) {
		left -= s.amount
		if left < b.Limit {
			return s.at.Add(b.Window)
		}
	}
	return time.Time{}
}

// Worst returns the most severe act that breaches demand of a session; empty if none
// does.
func Worst(breaches []Breach, session, agent string) (Act, Breach) {
	var act Act
	var worst Breach
	for _, b := range breaches {
		if who, ok := b.Budget.who(session, agent); ok && who == b.Who && b.Budget.Act.severity() > act.severity() {
			act, worst = b.Budget.Act, b
		}
	}
	return act, worst
}

func sorted(spends []spend) []spend {
	out := slices.Clone(spends)
	slices.SortFunc(out, func(a, b spend) int { return a.at.Compare(b.at) })
	return out
}
