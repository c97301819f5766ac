package usage

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
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

// Act is what happens as soon as a budget is used up.
type Act string

// The acts, the mildest first.
const (
	ActWarn      Act = "warn"
	ActHold      Act = "hold"      // new prompts wait
	ActInterrupt Act = "interrupt" // the turn is ended, and new prompts wait
	ActStop      Act = "stop"      // the session is stopped and held
)

// Severity orders the acts, the mildest first; zero is none.
func (a Act) Severity() int {
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
	Match   string // the agents or sessions that it is for, as a pattern of package path; empty is each of them
	Measure Measure
	Limit   float64
	Window  time.Duration // zero is for ever
	Act     Act
	Cached  bool // tokens read from the cache count too
	// Silence is how long an agent may be busy without a report that the budget
	// counts, before the budget is taken to be used up. Zero is as long as it likes.
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

// Busy is what is known of a session of the city.
type Busy struct {
	Session, Agent string
	Since          time.Time // it has been busy; zero: it is not
}

// Use is how much of a budget somebody has used.
type Use struct {
	Budget Budget
	Who    string // a session, an agent, or empty for the city
	Used   float64
	// Over says that the budget is used up.
	Over bool
	// Unknown says that it is more than Used: responses without numbers, or silence.
	Unknown string
	// Silent are the sessions that are busy at this moment and have reported nothing
	// for longer than they may, with since when.
	Silent map[string]time.Time
	Until  time.Time // when enough of it will have left the window, if nothing more is spent; zero: not over, or never
}

// Text returns what is used, in one line.
func (u Use) Text() string {
	used, unit, _ := strings.Cut(u.Budget.Measure.Amount(u.Used), " ")
	limit, _, _ := strings.Cut(u.Budget.Measure.Amount(u.Budget.Limit), " ")
	text := strings.TrimSpace(fmt.Sprintf("budget %s: %s of %s %s", u.Budget.Name, used, limit, unit))
	if u.Budget.Window > 0 {
		text += " in " + span(u.Budget.Window)
	}
	if u.Unknown != "" {
		text += "; " + u.Unknown
	}
	return text
}

// Amount returns how much that is, in words.
func (m Measure) Amount(v float64) string {
	switch m {
	case MeasureUSD:
		return fmt.Sprintf("$%.2f", v)
	case MeasureTime:
		return (time.Duration(v) * time.Second).String()
	case MeasureTokens, MeasureTurns:
	}
	return fmt.Sprintf("%s %s", thousands(int64(v)), m)
}

func thousands(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// span returns a duration without the zeros at its end.
func span(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// Breaches returns the budgets that are used up, see [Uses].
func Breaches(budgets []Budget, entries []Entry, busy []Busy, prices Prices, now time.Time) []Use {
	return slices.DeleteFunc(Uses(budgets, entries, busy, prices, now), func(u Use) bool { return !u.Over })
}

// Uses compares spending with budgets: one row for each budget and each one who has
// an account of it, in the order of the budgets and then by name. entries need not
// be sorted; busy are all sessions, those too that are not busy.
func Uses(budgets []Budget, entries []Entry, busy []Busy, prices Prices, now time.Time) []Use {
	var out []Use
	for _, b := range budgets {
		accounts := accountsOf(b, entries, busy, prices, now)
		for _, who := range slices.Sorted(maps.Keys(accounts)) {
			out = append(out, accounts[who].use(b))
		}
	}
	return out
}

// accounts are those of a budget by whose they are.
type accounts map[string]*account

// accountFor returns the account that a session's spending goes to; nil if it goes to none.
func (as accounts) accountFor(b Budget, session, agent string) *account {
	who, ok := b.accountName(session, agent)
	if !ok {
		return nil
	}
	if as[who] == nil {
		as[who] = &account{who: who, reportedAt: map[string]time.Time{}, lastSilences: map[string]silence{}}
	}
	return as[who]
}

// recordLifts records when each account was lifted last.
func (as accounts) recordLifts(b Budget, entries []Entry) {
	for _, e := range entries {
		if e.Lift != b.Name || e.Lift == "" {
			continue
		}
		if a := as.accountFor(b, e.Session, e.Agent); a != nil && e.At.After(a.lifted) {
			a.lifted = e.At
		}
	}
}

func accountsOf(b Budget, entries []Entry, busy []Busy, prices Prices, now time.Time) accounts {
	as := accounts{}
	if b.Scope == ScopeCity {
		as.accountFor(b, "", "")
	}
	as.recordLifts(b, entries)
	for _, e := range entries {
		if e.Lift != "" || b.Window > 0 && !e.At.After(now.Add(-b.Window)) {
			continue
		}
		if a := as.accountFor(b, e.Session, e.Agent); a != nil && e.At.After(a.lifted) {
			a.entry(b, e, prices)
		}
	}
	for _, s := range busy {
		if a := as.accountFor(b, s.Session, s.Agent); a != nil {
			a.busy(b, s, now)
		}
	}
	return as
}

// accountName returns the account that a session's spending goes to.
func (b Budget) accountName(session, agent string) (string, bool) {
	switch b.Scope {
	case ScopeSession:
		return session, b.isMatch(session) || b.isMatch(agent)
	case ScopeAgent:
		return agent, b.isMatch(agent)
	case ScopeCity:
	}
	return "", true
}

// AppliesTo reports whether the budget is for a session.
func (b Budget) AppliesTo(session, agent string) bool {
	_, ok := b.accountName(session, agent)
	return ok
}

// isMatch reports whether the budget is for somebody. An invalid pattern fits no
// name; it was refused before.
func (b Budget) isMatch(name string) bool {
	if b.Match == "" || b.Match == name {
		return true
	}
	fits, err := path.Match(b.Match, name)
	return err == nil && fits
}

// account adds up for one budget and one spender.
type account struct {
	who          string
	lifted       time.Time // what came until then does not count
	used         float64
	unknown      int
	spends       []spend
	reportedAt   map[string]time.Time // when a session last reported what the budget counts
	lastSilences map[string]silence   // of sessions, the last
	silentSince  map[string]time.Time // sessions that are silent now, since when
	silenceText  string
}

type spend struct {
	at     time.Time
	amount float64
}

// silence is one that was noted.
type silence struct {
	at   time.Time
	long time.Duration
	who  string
}

func (a *account) entry(b Budget, e Entry, prices Prices) {
	switch {
	case e.Silent > 0:
		if b.Silence > 0 && e.Silent >= b.Silence && e.At.After(a.lastSilences[e.Session].at) {
			a.lastSilences[e.Session] = silence{e.At, e.Silent, cmp.Or(e.Agent, e.Session)}
		}
		return
	case e.Busy > 0:
		if b.Measure == MeasureTime {
			a.spend(e.At, e.Busy.Seconds())
		}
		return
	}
	amount, known := b.amount(e, prices)
	switch {
	case known:
		if e.At.After(a.reportedAt[e.Session]) {
			a.reportedAt[e.Session] = e.At
		}
	case e.Model != "" || e.Tokens != (Tokens{}):
		a.unknown++
	}
	a.spend(e.At, amount)
}

func (a *account) spend(at time.Time, amount float64) {
	if amount != 0 {
		a.used += amount
		a.spends = append(a.spends, spend{at, amount})
	}
}

// amount returns what a reported entry adds, and whether it counts.
func (b Budget) amount(e Entry, prices Prices) (amount float64, known bool) {
	switch b.Measure {
	case MeasureTokens:
		n, known := e.Tokens.Fresh()
		if b.Cached {
			n, known = e.Tokens.Total()
		}
		return float64(n), known
	case MeasureUSD:
		amount, source := prices.Cost(e)
		return amount, source != CostUnknown
	case MeasureTurns:
		if e.Turn {
			amount = 1
		}
	case MeasureTime:
	}
	return amount, true
}

// busy looks whether a session is silent now.
func (a *account) busy(b Budget, s Busy, now time.Time) {
	if b.Silence == 0 || s.Since.IsZero() {
		return
	}
	last := s.Since
	for _, at := range []time.Time{a.reportedAt[s.Session], a.lifted} {
		if at.After(last) {
			last = at
		}
	}
	if now.Sub(last) < b.Silence {
		return
	}
	if a.silentSince == nil {
		a.silentSince = map[string]time.Time{}
	}
	a.silentSince[s.Session] = last
	a.silenceText = fmt.Sprintf("%s has been busy for %s without a usage report", cmp.Or(s.Agent, s.Session), now.Sub(last).Round(time.Second))
}

func (a *account) use(b Budget) Use {
	out := Use{Budget: b, Who: a.who, Used: a.used, Silent: a.silentSince, Unknown: a.silenceText}
	over := a.used >= b.Limit
	if over {
		out.Until = a.until(b)
	}
	ends := len(a.silentSince) == 0 && (!over || !out.Until.IsZero())
	for _, session := range slices.Sorted(maps.Keys(a.lastSilences)) {
		s := a.lastSilences[session]
		if a.reportedAt[session].After(s.at) {
			continue // it reports again
		}
		over = true
		if out.Unknown == "" {
			out.Unknown = fmt.Sprintf("%s was busy for %s without a usage report", s.who, s.long.Round(time.Second))
		}
		if end := s.at.Add(b.Window); b.Window == 0 {
			ends = false
		} else if end.After(out.Until) {
			out.Until = end
		}
	}
	out.Over = over || len(a.silentSince) > 0
	if !ends {
		out.Until = time.Time{}
	}
	if out.Unknown == "" && a.unknown > 0 {
		more := fmt.Sprintf("%d more responses", a.unknown)
		if a.unknown == 1 {
			more = "one more response"
		}
		out.Unknown = more + " reported no tokens"
		if b.Measure == MeasureUSD {
			out.Unknown = "what " + more + " cost is not known"
		}
	}
	return out
}

// until returns when so much has left the window that the rest is below the limit.
func (a *account) until(b Budget) time.Time {
	if b.Window == 0 {
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

// AppliesTo reports whether a use binds a session.
func (u Use) AppliesTo(session, agent string) bool {
	who, ok := u.Budget.accountName(session, agent)
	return ok && who == u.Who
}

// Worst returns the most severe act that the breaches demand of a session, with the
// breach that lasts longest of those that demand it; empty if none does.
func Worst(breaches []Use, session, agent string) (Act, Use) {
	var act Act
	var worst Use
	for _, u := range breaches {
		if !u.Over || !u.AppliesTo(session, agent) {
			continue
		}
		more := cmp.Compare(u.Budget.Act.Severity(), act.Severity())
		if more > 0 || more == 0 && act != "" && !worst.Until.IsZero() && (u.Until.IsZero() || u.Until.After(worst.Until)) {
			act, worst = u.Budget.Act, u
		}
	}
	return act, worst
}

func sorted(spends []spend) []spend {
	out := slices.Clone(spends)
	slices.SortFunc(out, func(a, b spend) int { return a.at.Compare(b.at) })
	return out
}
