package usage

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"gascity/internal/config"
)

// Measure is what a budget limits.
type Measure string

// The measures.
const (
	MeasureTokens = Measure(config.MeasureTokens)
	MeasureUSD    = Measure(config.MeasureUSD)
	MeasureTurns  = Measure(config.MeasureTurns)
	MeasureTime   = Measure(config.MeasureTime) // seconds in which an agent was busy
)

// Act is the action when a budget is used up.
type Act string

// The acts, the mildest first.
const (
	ActWarn      = Act(config.ActWarn)
	ActHold      = Act(config.ActHold)      // new prompts wait
	ActInterrupt = Act(config.ActInterrupt) // the turn is interrupted, and new prompts wait
	ActStop      = Act(config.ActStop)      // the session is stopped and held
)

// Severity returns the rank of the act, 1 for the mildest; zero for an unknown act.
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

// Budget is a limit for usage within a rolling window.
type Budget struct {
	Name    string
	Scope   Scope
	Match   string // pattern of package path for the agents or sessions; empty matches all
	Measure Measure
	Limit   float64
	Window  time.Duration // zero: all time
	Act     Act
	Cached  bool // true: tokens that are read from the cache count too
	// Silence is how long an agent may be busy without a usage report before the budget counts as
	// used up. Zero: no limit.
	Silence time.Duration
}

// Scope states whose usage a budget adds up.
type Scope string

// The scopes.
const (
	ScopeSession = Scope(config.ScopeSession)
	ScopeAgent   = Scope(config.ScopeAgent)
	ScopeCity    = Scope(config.ScopeCity)
)

// Busy states since when a session of the city has been busy.
type Busy struct {
	Session, Agent string
	Since          time.Time // start of the busy time; zero: not busy
}

// Use is how much of a budget is used.
type Use struct {
	Budget Budget
	Who    string // a session, an agent, or empty for the city
	Used   float64
	// Over is true if the budget is used up.
	Over bool
	// Unknown states why the real use may exceed Used: responses without numbers, or silence.
	// Empty: Used is complete.
	Unknown string
	// Silent contains the sessions that are busy now and have sent no usage report for longer than
	// Budget.Silence, with the start of the silence.
	Silent map[string]time.Time
	Until  time.Time // when the use falls below the limit if there is no more usage; zero: not over, or never
}

// Text returns one line that describes the use.
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

// Amount returns a text for an amount in the unit of the measure.
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

// thousands returns n with commas between groups of three digits.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// span returns a duration as whole hours or minutes if it is a multiple of them.
func span(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

// Uses compares usage with budgets. It returns one element for each budget and each session, agent
// or city that the budget counts separately, in the order of the budgets and then by name. entries
// need not be sorted. busy contains all sessions, including those that are not busy.
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

// accounts contains the accounts of one budget by session, agent or, with an empty name, the city.
type accounts map[string]*account

// accountFor returns the account for the usage of a session; nil if the budget does not apply to
// it.
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

// recordLifts records for each account when a person last reset the budget. Usage before that time
// does not count.
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

// accountsOf returns the accounts of a budget with the usage of all entries that count for it.
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

// accountName returns which account of the budget the usage of a session counts for: the session,
// the agent, or "" for the city. ok is false if the budget does not apply to the session.
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

// AppliesTo reports whether the budget applies to a session.
func (b Budget) AppliesTo(session, agent string) bool {
	_, ok := b.accountName(session, agent)
	return ok
}

// isMatch reports whether the budget's pattern matches the name of a session or agent. An empty
// pattern matches all. An invalid pattern matches none; the configuration refuses it.
func (b Budget) isMatch(name string) bool {
	if b.Match == "" || b.Match == name {
		return true
	}
	fits, err := path.Match(b.Match, name)
	return err == nil && fits
}

// account adds up the usage for one budget and one session, agent or city.
type account struct {
	who          string
	lifted       time.Time // usage up to this time does not count
	used         float64
	unknown      int
	spends       []spend
	reportedAt   map[string]time.Time // when each session last reported usage that the budget counts
	lastSilences map[string]silence   // the last recorded silence of each session
	silentSince  map[string]time.Time // start of the silence of each session that is silent now
	silenceText  string
}

// spend is an amount of usage at a time.
type spend struct {
	at     time.Time
	amount float64
}

// silence is a recorded period in which a busy session sent no usage report.
type silence struct {
	at   time.Time
	long time.Duration
	who  string
}

// entry adds the usage of one entry to the account, in the unit of the budget's measure.
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

// spend adds an amount to the account.
func (a *account) spend(at time.Time, amount float64) {
	if amount != 0 {
		a.used += amount
		a.spends = append(a.spends, spend{at, amount})
	}
}

// amount returns how much an entry adds to the budget. known is false if the entry has no number
// for it.
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

// busy records the session s as silent if it has been busy without a report for longer than the
// budget allows.
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

// use returns how much of the budget the account has used, and whether that is too much.
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
			continue // it has sent a report since
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

// until returns when the use falls below the limit because the oldest usage has left the window;
// zero if the budget has no window.
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

// AppliesTo reports whether the usage of a session counts for this use of the budget.
func (u Use) AppliesTo(session, agent string) bool {
	who, ok := u.Budget.accountName(session, agent)
	return ok && who == u.Who
}

// Worst returns the most severe act that used-up budgets require for a session, and the budget that
// requires it. If several require the same act, it returns the one that lasts longest. The act is
// empty if no budget of the session is used up.
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

// sorted returns the spends in the order of their times.
func sorted(spends []spend) []spend {
	out := slices.Clone(spends)
	slices.SortFunc(out, func(a, b spend) int { return a.at.Compare(b.at) })
	return out
}
