// Package usage counts the tokens and the cost of agents. It converts the token counts of model
// providers to one form, computes costs and sums, and compares them with budgets. It has no side
// effects; a [Store] stores the entries.
//
// A response of a model counts once, however often and in whatever order it is reported. Its key
// is the run and the model provider's id of the response. If its numbers grow from report to
// report, the greatest counts. A number that was not reported is unknown, not zero. A cost is
// either reported by the source or computed with a price table.
package usage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"gascity/worker"
)

// Tokens contains the tokens of one response in disjoint kinds. Nil is unknown.
type Tokens struct {
	Input      *int64 `json:"input,omitempty"` // without tokens from the cache
	CacheRead  *int64 `json:"cache_read,omitempty"`
	CacheWrite *int64 `json:"cache_write,omitempty"`
	Output     *int64 `json:"output,omitempty"` // without reasoning
	Reasoning  *int64 `json:"reasoning,omitempty"`
}

// TokenKind is one kind of tokens and its number.
type TokenKind struct {
	Name string
	N    **int64
}

// Kinds returns all kinds of tokens, always in the same order. Their numbers are those of t, and can be changed.
func (t *Tokens) Kinds() [5]TokenKind {
	return [5]TokenKind{
		{"input", &t.Input}, {"cache_read", &t.CacheRead}, {"cache_write", &t.CacheWrite}, {"output", &t.Output}, {"reasoning", &t.Reasoning},
	}
}

// Total returns the sum of the known numbers; known is false if all are unknown.
func (t Tokens) Total() (sum int64, known bool) {
	return add(t.Input, t.CacheRead, t.CacheWrite, t.Output, t.Reasoning)
}

// Fresh returns the sum like Total, but without tokens that were read from the cache.
func (t Tokens) Fresh() (sum int64, known bool) {
	return add(t.Input, t.CacheWrite, t.Output, t.Reasoning)
}

// add returns the sum of the numbers that are not nil.
func add(buckets ...*int64) (sum int64, known bool) {
	for _, b := range buckets {
		if b != nil {
			sum, known = sum+min(*b, maxTokens), true
		}
	}
	return sum, known
}

// Entry is the usage of one response of a model.
type Entry struct {
	Run     string    `json:"run"`
	Message string    `json:"message"` // the model provider's id of the response, or a hash of the report
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	At      time.Time `json:"at"`
	Model   string    `json:"model,omitempty"`
	Tokens  Tokens    `json:"tokens"`
	// Cost is in US dollars, as reported by the source; nil if it was not reported.
	Cost   *float64 `json:"cost,omitempty"`
	Source string   `json:"source"` // where the numbers come from: "vendor", "transcript" or "estimate"
	// Reported contains the model provider's numbers, unchanged.
	Reported worker.Usage `json:"reported"`
	Tools    []Tool       `json:"tools,omitempty"`
	Turn     bool         `json:"turn,omitempty"` // the response ended a turn

	// The city itself sets the following fields, each in a separate entry.

	Busy   time.Duration `json:"busy,omitempty"`   // how long an agent was busy, until At
	Silent time.Duration `json:"silent,omitempty"` // how long a busy agent sent no usage report, until At
	Lift   string        `json:"lift,omitempty"`   // name of a budget that a person reset: usage until At does not count
}

// isFromCity reports whether the city itself created the entry, not a worker's report.
func (e Entry) isFromCity() bool { return e.Busy > 0 || e.Silent > 0 || e.Lift != "" }

// Tool counts the calls of a tool in a turn.
type Tool struct {
	Name   string        `json:"name"`
	Calls  int           `json:"calls"`
	Failed int           `json:"failed,omitempty"`
	Took   time.Duration `json:"took"`
}

// Key identifies the response of an entry.
type Key struct{ Run, Message string }

// Key returns the entry's key.
func (e Entry) Key() Key { return Key{e.Run, e.Message} }

// Origin states where a report comes from.
type Origin struct{ Run, Session, Agent string }

// FromEvent returns the entry for a report. ok is false if it reports no response, no tool call
// and no end of a turn.
func FromEvent(o Origin, e worker.TelemetryEvent) (Entry, bool) {
	if e.Usage == nil && len(e.ToolsCalled) == 0 && e.Type != worker.TurnComplete {
		return Entry{}, false
	}
	entry := Entry{
		Run: o.Run, Session: o.Session, Agent: o.Agent, Message: e.MessageID, At: e.Timestamp,
		Tools: toolsOf(e.ToolsCalled), Turn: e.Type == worker.TurnComplete,
	}
	if e.Usage != nil {
		entry.Model, entry.Cost, entry.Source = e.Usage.Model, valid(e.Usage.CostUSD), e.Usage.Source
		entry.Tokens, entry.Reported = Normalise(*e.Usage), *e.Usage
	}
	if entry.Source == "" {
		entry.Source = "vendor"
	}
	if entry.Message == "" {
		entry.Message = contentName(e)
	}
	return entry, true
}

// contentName returns an id for a report without an id of its own: a hash of its content. So the
// same report, sent twice, counts once.
func contentName(e worker.TelemetryEvent) string {
	text, err := json.Marshal(e)
	if err != nil { // a number that JSON cannot represent: use the printed form
		text = fmt.Appendf(nil, "%+v", e)
	}
	sum := sha256.Sum256(text)
	return "content " + hex.EncodeToString(sum[:12])
}

// maxTook is the maximum duration that counts for one tool call.
const maxTook = 30 * 24 * time.Hour

// toolsOf returns the counts of the calls by tool.
func toolsOf(calls []worker.ToolCall) []Tool {
	var tools []Tool
	at := map[string]int{}
	for _, c := range calls {
		i, known := at[c.Name]
		if !known {
			i = len(tools)
			at[c.Name] = i
			tools = append(tools, Tool{Name: c.Name})
		}
		tools[i].Calls++
		if !c.Success {
			tools[i].Failed++
		}
		tools[i].Took += min(max(0, time.Duration(c.DurationMS)), maxTook/time.Millisecond) * time.Millisecond
	}
	return tools
}

// Normalise returns a model provider's numbers as disjoint kinds of tokens. An impossible number,
// below zero or less than one of its parts, is unknown.
func Normalise(u worker.Usage) Tokens {
	t := Tokens{
		Input: natural(u.InputTokens), CacheRead: natural(u.CacheReadTokens), CacheWrite: natural(u.CacheCreationTokens),
		Output: natural(u.OutputTokens), Reasoning: natural(u.ReasoningTokens),
	}
	switch u.Semantics {
	case worker.Disjoint, "":
	case worker.CacheInInput:
		t.Input = less(t.Input, t.CacheRead)
	case worker.ThinkingInside:
		t.Input, t.Output = less(t.Input, t.CacheRead), less(t.Output, t.Reasoning)
	default: // unknown semantics: the overlap cannot be computed
		t.Input, t.Output = nil, nil
	}
	return t
}

// maxTokens is the maximum that counts for one number. It is far more than one response can have,
// and small enough that a sum cannot overflow.
const maxTokens = 1e11

// natural returns the number, at most maxTokens; nil if it is negative or unknown.
func natural(n *int64) *int64 {
	if n == nil || *n < 0 {
		return nil
	}
	return new(min(*n, maxTokens))
}

// valid returns the cost; nil if it is unknown, negative, too great or not a number.
func valid(cost *float64) *float64 {
	if cost == nil || !(*cost >= 0) || *cost > 1e9 { // the negation also excludes NaN
		return nil
	}
	return new(*cost)
}

// less returns whole minus part; nil if the result is negative or whole is unknown.
func less(whole, part *int64) *int64 {
	if whole == nil || part == nil {
		return whole
	}
	if *whole < *part {
		return nil
	}
	return new(*whole - *part)
}

// Merge combines two reports of one response. Each number is the greater one, because numbers grow
// while a response streams. Everything else is from the later report, except: an empty model is taken
// from the earlier one, the longer list of tools is used, and Turn is set if either has it. The order of
// the arguments matters only for reports with the same time.
func Merge(a, b Entry) Entry {
	if b.At.Before(a.At) {
		a, b = b, a
	}
	out := b
	earlier := a.Tokens.Kinds()
	for i, kind := range out.Tokens.Kinds() {
		*kind.N = greater(*earlier[i].N, *kind.N)
	}
	out.Cost = greater(a.Cost, b.Cost)
	out.Turn, out.Busy, out.Silent = a.Turn || b.Turn, max(a.Busy, b.Busy), max(a.Silent, b.Silent)
	if out.Model == "" {
		out.Model = a.Model
	}
	if len(a.Tools) > len(b.Tools) {
		out.Tools = a.Tools
	}
	return out
}

// greater returns the greater number; nil is less than any number.
func greater[T int64 | float64](a, b *T) *T {
	switch {
	case a == nil:
		return b
	case b == nil || *a > *b:
		return a
	}
	return b
}
