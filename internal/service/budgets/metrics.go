package budgets

import (
	"cmp"
	"maps"
	"slices"

	"gascity/internal/domain/usage"
	"gascity/internal/telemetry"
)

// spender is the agent and the model of a usage counter.
type spender struct{ agent, model string }

// maxSpenders is the largest number of usage counters.
const maxSpenders = 2000

// total is the usage that was reported since the start of the engine.
type total struct {
	tokens    usage.Tokens
	responses int
	turns     int
	usd       float64
}

// countLocked adds what is new in a stored entry to the usage counters. The caller holds mu.
func (e *Engine) countLocked(k usage.StoreResult) {
	if k.After.Busy > 0 || k.After.Silent > 0 || k.After.Lift != "" {
		return
	}
	key := spender{k.After.Agent, k.After.Model}
	if _, known := e.counted[key]; !known && len(e.counted) >= maxSpenders {
		key.model = "other" // workers may report any number of model names
	}
	t := e.counted[key]
	var was usage.Entry
	if k.Before != nil {
		was = *k.Before
	} else if k.After.Model != "" || k.After.Cost != nil || k.After.Tokens != (usage.Tokens{}) {
		t.responses++
	}
	if k.After.Turn && !was.Turn {
		t.turns++
	}
	old, now := was.Tokens.Kinds(), k.After.Tokens.Kinds()
	for i, sum := range t.tokens.Kinds() {
		grow(sum.N, *old[i].N, *now[i].N)
	}
	before, _ := e.rules.Prices.Cost(was)
	after, _ := e.rules.Prices.Cost(k.After)
	t.usd += max(0, after-before) // a counter must not decrease
	e.counted[key] = t
}

// grow adds the difference between now and was to sum. Nil means not reported.
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

// Metrics returns the usage counters since the start of the engine, and the states of budgets. The
// counters start at zero with each controller.
func (e *Engine) Metrics() []telemetry.MetricFamily {
	e.mu.Lock()
	defer e.mu.Unlock()
	tokens := telemetry.MetricFamily{Name: "gc_usage_tokens_total", Help: "Tokens reported, by disjoint kinds.", Type: telemetry.Counter}
	responses := telemetry.MetricFamily{Name: "gc_usage_responses_total", Help: "Responses of models.", Type: telemetry.Counter}
	turns := telemetry.MetricFamily{Name: "gc_usage_turns_total", Help: "Turns that ended.", Type: telemetry.Counter}
	cost := telemetry.MetricFamily{Name: "gc_usage_cost_usd_total", Help: "The known part of the cost, in US dollars.", Type: telemetry.Counter}
	for _, key := range slices.SortedFunc(maps.Keys(e.counted), compare) {
		t, model := e.counted[key], cmp.Or(key.model, "unknown")
		for _, kind := range t.tokens.Kinds() {
			if *kind.N != nil { // an unreported number is not zero
				tokens.Add(float64(**kind.N), "agent", key.agent, "model", model, "kind", kind.Name)
			}
		}
		responses.Add(float64(t.responses), "agent", key.agent, "model", model)
		turns.Add(float64(t.turns), "agent", key.agent, "model", model)
		if t.usd > 0 {
			cost.Add(t.usd, "agent", key.agent, "model", model)
		}
	}
	used := telemetry.MetricFamily{Name: "gc_budget_used_ratio", Help: "How much of a budget is used, 1 being all.", Type: telemetry.Gauge}
	over := telemetry.MetricFamily{Name: "gc_budget_over", Help: "Whether a budget is used up.", Type: telemetry.Gauge}
	for _, u := range e.uses {
		labels := []string{"budget", u.Budget.Name, "scope", string(u.Budget.Scope), "who", u.Who}
		used.Add(u.Used/u.Budget.Limit, labels...)
		over.Add(truth(u.Over), labels...)
	}
	breaches := telemetry.MetricFamily{Name: "gc_budget_breaches_total", Help: "How often a budget was used up.", Type: telemetry.Counter}
	for _, b := range e.rules.Budgets {
		breaches.Add(float64(e.tripped[b.Name]), "budget", b.Name)
	}
	return []telemetry.MetricFamily{tokens, responses, turns, cost, used, over, breaches}
}

// compare orders spenders by agent and model.
func compare(a, b spender) int {
	return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.model, b.model))
}

// truth returns 1 for true and 0 for false.
func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
