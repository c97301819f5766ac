// Package usage counts what agents spend: it brings the model providers' ways of counting
// to one, adds prices, sums up, and compares with budgets. It is pure; a [Store]
// keeps the entries.
//
// A response of a model counts once, however often and in whatever order it is
// reported: the key is the run and the model provider's name of the response, and the
// greatest report of a growing one stands. What was not reported is unknown, which is
// never zero. Tokens come first; money follows from a price that the source reports
// or a dated table has.
package usage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"gascity/worker"
)

// Tokens are the disjoint buckets of one response. Nil is unknown.
type Tokens struct {
	Input      *int64 `json:"input,omitempty"` // not from the cache
	CacheRead  *int64 `json:"cache_read,omitempty"`
	CacheWrite *int64 `json:"cache_write,omitempty"`
	Output     *int64 `json:"output,omitempty"` // what is not reasoning
	Reasoning  *int64 `json:"reasoning,omitempty"`
}

// Total returns the sum of what is known; not known if nothing is.
func (t Tokens) Total() (sum int64, known bool) {
	return add(t.Input, t.CacheRead, t.CacheWrite, t.Output, t.Reasoning)
}

// Fresh is Total without what was read from the cache.
func (t Tokens) Fresh() (sum int64, known bool) {
	return add(t.Input, t.CacheWrite, t.Output, t.Reasoning)
}

func add(buckets ...*int64) (sum int64, known bool) {
	for _, b := range buckets {
		if b != nil {
			sum, known = sum+min(*b, maxTokens), true
		}
	}
	return sum, known
}

// Entry is one response of a model.
type Entry struct {
	Run     string    `json:"run"`
	Message string    `json:"message"` // the model provider's name of the response, or one made from the report
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	At      time.Time `json:"at"`
	Model   string    `json:"model,omitempty"`
	Tokens  Tokens    `json:"tokens"`
	// Cost is in US dollars, as the source computed it; nil if it did not.
	Cost   *float64 `json:"cost,omitempty"`
	Source string   `json:"source"` // where the numbers come from: "vendor", "transcript" or "estimate"
	// Reported are the model provider's numbers as they came.
	Reported worker.Usage `json:"reported"`
	Tools    []Tool       `json:"tools,omitempty"`
	Turn     bool         `json:"turn,omitempty"` // it ended a turn

	// The rest is what the city notes by itself, each in an entry of its own.

	Busy   time.Duration `json:"busy,omitempty"`   // an agent worked so long, until At
	Silent time.Duration `json:"silent,omitempty"` // and reported nothing of what it spent for so long
	Lift   string        `json:"lift,omitempty"`   // a person has lifted the budget of that name: what was spent before At counts no more
}

// isFromCity reports whether the city has made the entry, and no worker has reported
// it.
func (e Entry) isFromCity() bool { return e.Busy > 0 || e.Silent > 0 || e.Lift != "" }

// Tool is how often a tool was used in a turn.
type Tool struct {
	Name   string        `json:"name"`
	Calls  int           `json:"calls"`
	Failed int           `json:"failed,omitempty"`
	Took   time.Duration `json:"took"`
}

// Key names the response that an entry is about.
type Key struct{ Run, Message string }

// Key returns the entry's key.
func (e Entry) Key() Key { return Key{e.Run, e.Message} }

// Origin is where a report came from.
type Origin struct{ Run, Session, Agent string }

// FromEvent makes an entry from a report; not ok if it reports no response and no tool.
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
		entry.Message = nameOf(e)
	}
	return entry, true
}

// nameOf names a report without a name by its content: the same report again is
// the same response.
func nameOf(e worker.TelemetryEvent) string {
	text, err := json.Marshal(e)
	if err != nil { // a value that is no JSON number: its print is as good a name
		text = fmt.Appendf(nil, "%+v", e)
	}
	sum := sha256.Sum256(text)
	return "content " + hex.EncodeToString(sum[:12])
}

// maxTook is the longest that one use of a tool counts.
const maxTook = 30 * 24 * time.Hour

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

// Normalise brings a model provider's way of counting to disjoint buckets. A number that
// cannot be, below zero or less than a part of it, makes its bucket unknown.
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
	default: // an unknown way: the overlaps cannot be computed
		t.Input, t.Output = nil, nil
	}
	return t
}

// maxTokens is the most that a bucket counts: far beyond what one response can have, and far
// below what would make a sum of responses turn over.
const maxTokens = 1e11

func natural(n *int64) *int64 {
	if n == nil || *n < 0 {
		return nil
	}
	return new(min(*n, maxTokens))
}

func valid(cost *float64) *float64 {
	if cost == nil || !(*cost >= 0) || *cost > 1e9 { // also not a number
		return nil
	}
	v := *cost
	return &v
}

// less removes a part from a whole.
func less(whole, part *int64) *int64 {
	if whole == nil || part == nil {
		return whole
	}
	if *whole < *part {
		return nil
	}
	v := *whole - *part
	return &v
}

// Merge makes one of two reports of one response: each number is the greater, since
// they grow while a response streams; words are the later report's. The order of
// the two makes no difference except for reports of one time.
func Merge(a, b Entry) Entry {
	if b.At.Before(a.At) {
		a, b = b, a
	}
	out := b
	out.Tokens = Tokens{
		Input: greater(a.Tokens.Input, b.Tokens.Input), CacheRead: greater(a.Tokens.CacheRead, b.Tokens.CacheRead),
		CacheWrite: greater(a.Tokens.CacheWrite, b.Tokens.CacheWrite), Output: greater(a.Tokens.Output, b.Tokens.Output),
		Reasoning: greater(a.Tokens.Reasoning, b.Tokens.Reasoning),
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

func greater[T int64 | float64](a, b *T) *T {
	switch {
	case a == nil:
		return b
	case b == nil || *a > *b:
		return a
	}
	return b
}
