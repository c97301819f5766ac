package budget

import (
	"gascity/internal/usage"
)

// spender is whose spending a counter counts.
type spender struct{ agent, model string }

// total is what was told since the engine began.
type total struct {
	tokens    usage.Tokens
	responses int
	turns     int
	usd       float64
}

// countLocked adds what an entry told beyond what was known.
func (e *Engine) countLocked(k usage.Kept) {
	if k.Now.Busy > 0 || k.Now.Silent > 0 || k.Now.Lift != "" {
		return
	}
	key := spender{k.Now.Agent, k.Now.Model}
	t := e.counted[key]
	var was usage.Entry
	if k.Was != nil {
		was = *k.Was
	} else if k.Now.Model != "" || k.Now.Cost != nil || k.Now.Tokens != (usage.Tokens{}) {
		t.responses++
	}
	if k.Now.Turn && !was.Turn {
		t.turns++
	}
	grow(&t.tokens.Input, was.Tokens.Input, k.Now.Tokens.Input)
	grow(&t.tokens.CacheRead, was.Tokens.CacheRead, k.Now.Tokens.CacheRead)
	grow(&t.tokens.CacheWrite, was.Tokens.CacheWrite, k.Now.Tokens.CacheWrite)
	grow(&t.tokens.Output, was.Tokens.Output, k.Now.Tokens.Output)
	grow(&t.tokens.Reasoning, was.Tokens.Reasoning, k.Now.Tokens.Reasoning)
	before, _ := e.rules.Prices.Cost(was)
	after, _ := e.rules.Prices.Cost(k.Now)
	t.usd += max(0, after-before) // a counter never falls
	e.counted[key] = t
}

func grow(sum **int64, was, now *int64) {
	if now == nil {
		return
	}
	if *sum == nil {
		*sum = new(int64)
	}
	**sum += *now
	if was != nil {
		**sum -= *was
	}
}
