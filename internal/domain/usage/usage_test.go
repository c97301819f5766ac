package usage_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/internal/domain/usage"
	"gascity/worker"
)

var start = time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)

// n returns a reported number.
func n(v int) *int64 { return new(int64(v)) }

// response returns the report of a response of the model, with its token usage.
func response(message string, at time.Duration, u worker.Usage) worker.TelemetryEvent {
	return worker.TelemetryEvent{Type: worker.TurnComplete, Timestamp: start.Add(at), MessageID: message, Usage: &u}
}

// ingest does what a store does: one entry for a key, merged.
func ingest(events []worker.TelemetryEvent) []usage.Entry {
	kept := map[usage.Key]usage.Entry{}
	var order []usage.Key
	for _, e := range events {
		entry, ok := usage.FromEvent(usage.Origin{Run: "r", Session: "s", Agent: "a"}, e)
		if !ok {
			continue
		}
		if was, known := kept[entry.Key()]; known {
			entry = usage.Merge(was, entry)
		} else {
			order = append(order, entry.Key())
		}
		kept[entry.Key()] = entry
	}
	out := make([]usage.Entry, 0, len(order))
	for _, k := range order {
		out = append(out, kept[k])
	}
	return out
}

// total returns the sum of all entries.
func total(t interface{ Fatalf(string, ...any) }, entries []usage.Entry) usage.Sum {
	sums := usage.Add(entries, usage.Prices{}, usage.ByAll, time.UTC)
	if len(sums) != 1 {
		t.Fatalf("got %d sums", len(sums))
	}
	return sums[0]
}

// TestReportsCountOnceInAnyOrder checks that reports that are repeated, grow, or arrive in any
// order give the same sums.
func TestReportsCountOnceInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var events []worker.TelemetryEvent
		var input, output int64
		for i := range rapid.IntRange(1, 8).Draw(t, "responses") {
			in, out := int64(rapid.IntRange(0, 1000).Draw(t, "in")), int64(rapid.IntRange(1, 1000).Draw(t, "out"))
			input, output = input+in, output+out
			message := string(rune('a' + i))
			for k := range rapid.IntRange(1, 4).Draw(t, "growing") {
				events = append(events, response(message, time.Duration(i)*time.Second, worker.Usage{Model: "m", InputTokens: new(in), OutputTokens: new(min(out, int64(k)))}))
			}
			events = append(events, response(message, time.Duration(i)*time.Second, worker.Usage{Model: "m", InputTokens: new(in), OutputTokens: new(out)}))
		}
		events = append(events, events...)
		got := total(t, ingest(rapid.Permutation(events).Draw(t, "order"))).Tokens
		if diff := cmp.Diff(usage.TokenSum{Tokens: usage.Tokens{Input: &input, Output: &output}}, got); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

// TestVendorsWaysOfCountingBecomeDisjoint checks that token counts that contain each other, such as
// input with cached tokens, become counts that do not overlap.
func TestVendorsWaysOfCountingBecomeDisjoint(t *testing.T) {
	for _, c := range []struct {
		name string
		in   worker.Usage
		want usage.Tokens
	}{
		{"disjoint", worker.Usage{InputTokens: n(10), CacheReadTokens: n(90), OutputTokens: n(5)}, usage.Tokens{Input: n(10), CacheRead: n(90), Output: n(5)}},
		{"cache inside", worker.Usage{InputTokens: n(100), CacheReadTokens: n(90), OutputTokens: n(5), Semantics: worker.CacheInInput}, usage.Tokens{Input: n(10), CacheRead: n(90), Output: n(5)}},
		{"reasoning inside", worker.Usage{InputTokens: n(100), OutputTokens: n(50), ReasoningTokens: n(30), Semantics: worker.ThinkingInside}, usage.Tokens{Input: n(100), Output: n(20), Reasoning: n(30)}},
		{"impossible", worker.Usage{InputTokens: n(10), CacheReadTokens: n(90), Semantics: worker.CacheInInput}, usage.Tokens{CacheRead: n(90)}},
		{"negative", worker.Usage{InputTokens: n(-1), OutputTokens: n(5)}, usage.Tokens{Output: n(5)}},
		{"unknown", worker.Usage{}, usage.Tokens{}},
		{"an unknown way", worker.Usage{InputTokens: n(10), OutputTokens: n(5), CacheReadTokens: n(1), Semantics: "new"}, usage.Tokens{CacheRead: n(1)}},
	} {
		if diff := cmp.Diff(c.want, usage.Normalise(c.in)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

// TestWhatIsUnknownIsNotZero checks that a response without token counts is counted as unknown and
// not as zero.
func TestWhatIsUnknownIsNotZero(t *testing.T) {
	events := []worker.TelemetryEvent{
		response("a", 0, worker.Usage{Model: "m", InputTokens: n(1), OutputTokens: n(2)}),
		response("b", 0, worker.Usage{Model: "m"}),
		{Type: worker.TurnComplete, Timestamp: start},
		{Type: worker.ContextPressure, Timestamp: start},
	}
	got := total(t, ingest(events))
	if got.Responses != 2 || got.Tokens.Unknown != 1 || got.Unpriced != 2 || got.Turns != 3 {
		t.Errorf("got %+v, want 2 responses, 1 unknown, 2 without a price, 3 turns", got)
	}
}

// TestNoReportTurnsASumOver checks that impossible numbers in a report neither make a sum negative
// nor reduce what others have used.
func TestNoReportTurnsASumOver(t *testing.T) {
	var events []worker.TelemetryEvent
	for i, told := range []int{math.MaxInt64, math.MinInt64, -1, 1e11 + 1, 7} {
		e := response(string(rune('a'+i)), 0, worker.Usage{InputTokens: n(told), OutputTokens: n(told), ReasoningTokens: n(told), CacheReadTokens: n(told)})
		e.ToolsCalled = []worker.ToolCall{{Name: "x", DurationMS: int64(told)}, {Name: "x", DurationMS: int64(told)}}
		events = append(events, e)
	}
	entries := ingest(events)
	for _, e := range entries {
		if sum, _ := e.Tokens.Total(); sum < 0 || e.Tools[0].Took < 0 || e.Tools[0].Took > 100*24*time.Hour {
			t.Errorf("%s became %+v, %+v", e.Message, e.Tokens, e.Tools)
		}
	}
	if got := total(t, entries); got.Tokens.Input == nil || *got.Tokens.Input != 2e11+7 {
		t.Errorf("the sum is %+v", got.Tokens)
	}
}

// TestReportedCostReplacesThePriceTable checks that the cost of a response is the reported one, and
// otherwise that of the price table.
func TestReportedCostReplacesThePriceTable(t *testing.T) {
	prices, err := usage.DecodePrices("p", []byte(`
[[price]]
model = "m*"
input = 3
output = 15
cache_read = 0.3
[[price]]
model = "m*"
since = 2026-03-02
input = 1
output = 1
`))
	if err != nil {
		t.Fatal(err)
	}
	tokens := worker.Usage{Model: "m-1", InputTokens: n(1_000_000), CacheReadTokens: n(1_000_000), OutputTokens: n(100_000)}
	told := tokens
	cost := 0.2325
	told.CostUSD = &cost
	other := tokens
	other.Model = "x"
	for _, c := range []struct {
		name   string
		event  worker.TelemetryEvent
		want   float64
		source usage.CostSource
	}{
		{"table", response("a", 0, tokens), 3 + 0.3 + 1.5, usage.CostPriced},
		{"later price", response("a", 24*time.Hour, tokens), 1.1, usage.CostPriced},
		{"told", response("a", 0, told), 0.2325, usage.CostReported},
		{"no price", response("a", 0, other), 0, usage.CostUnknown},
		{"no numbers", response("a", 0, worker.Usage{Model: "m-1"}), 0, usage.CostUnknown},
	} {
		got, source := prices.Cost(ingest([]worker.TelemetryEvent{c.event})[0])
		if math.Abs(got-c.want) > 1e-9 || source != c.source {
			t.Errorf("%s: got %v %s, want %v %s", c.name, got, source, c.want, c.source)
		}
	}
}

// TestBuiltInPricesAreValid checks that the built-in price table is valid, and that mistakes in a
// table are errors.
func TestBuiltInPricesAreValid(t *testing.T) {
	prices, err := usage.ShippedPrices()
	if err != nil {
		t.Fatal(err)
	}
	if len(prices.Prices) == 0 || prices.Version == "" {
		t.Fatal("the table is empty or has no version")
	}
	for _, bad := range []string{"[[price]]\nmodel='['\n", "[[price]]\nmodel='a'\ninput=-1\n", "[[price]]\nmodell='a'\n"} {
		if _, err := usage.DecodePrices("p", []byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestSums checks sums by day, by agent, by model and by tool.
func TestSums(t *testing.T) {
	events := []worker.TelemetryEvent{
		response("a", 0, worker.Usage{Model: "m", InputTokens: n(1), OutputTokens: n(2)}),
		response("b", 24*time.Hour, worker.Usage{Model: "o", InputTokens: n(3), OutputTokens: n(4)}),
	}
	events[0].ToolsCalled = []worker.ToolCall{{Name: "Bash", Success: true, DurationMS: 5}, {Name: "Bash", DurationMS: 7}}
	entries := ingest(events)
	days := usage.Add(entries, usage.Prices{}, usage.ByDay, time.UTC)
	if len(days) != 2 || days[0].Group != "2026-03-01" || *days[1].Tokens.Output != 4 {
		t.Errorf("days: %+v", days)
	}
	// Hours begin at the full hour of the location, also where its offset is not a number of hours.
	hours := usage.Add(entries, usage.Prices{}, usage.ByHour, time.FixedZone("IST", 5*3600+1800))
	for i, h := range hours {
		begin, err := time.Parse(time.RFC3339, h.Group)
		if into := h.First.Sub(begin); err != nil || into < 0 || into >= time.Hour || begin.Minute() != 0 || i == 1 && !begin.After(*hours[0].First) {
			t.Errorf("the hour %q has the first entry %v (%v)", h.Group, h.First, err)
		}
	}
	if len(hours) != 2 {
		t.Errorf("hours: %+v", hours)
	}
	tools := usage.Add(entries, usage.Prices{}, usage.ByTool, time.UTC)
	if len(tools) != 1 || tools[0].Calls != 2 || tools[0].Failed != 1 || tools[0].TookNS != int64(12*time.Millisecond) {
		t.Errorf("tools: %+v", tools)
	}
	if models := usage.Add(entries, usage.Prices{}, usage.ByModel, time.UTC); len(models) != 2 {
		t.Errorf("models: %+v", models)
	}
}

// TestBudgets checks when a budget is used up, and until when.
func TestBudgets(t *testing.T) {
	now := start.Add(time.Hour)
	entries := ingest([]worker.TelemetryEvent{
		response("a", 0, worker.Usage{Model: "m", InputTokens: n(600), OutputTokens: n(0)}),
		response("b", 50*time.Minute, worker.Usage{Model: "m", InputTokens: n(500), OutputTokens: n(0)}),
	})
	budget := usage.Budget{Name: "day", Scope: usage.ScopeAgent, Measure: usage.MeasureTokens, Limit: 1000, Window: 2 * time.Hour, Act: usage.ActHold}
	got := breaches([]usage.Budget{budget}, entries, nil, usage.Prices{}, now)
	if len(got) != 1 || got[0].Who != "a" || got[0].Used != 1100 || !got[0].Until.Equal(start.Add(2*time.Hour)) {
		t.Fatalf("got %+v, want a breach of 1100 until the first response leaves the window", got)
	}
	if act, _ := usage.Worst(got, "s", "a"); act != usage.ActHold {
		t.Errorf("act: %q", act)
	}
	if act, _ := usage.Worst(got, "s2", "b"); act != "" {
		t.Errorf("another agent's act: %q", act)
	}
	if got := breaches([]usage.Budget{budget}, entries, nil, usage.Prices{}, now.Add(70*time.Minute)); len(got) != 0 {
		t.Errorf("what has left the window counts: %+v", got)
	}
}

// TestSilenceOfABusyAgentUsesABudgetUp checks that a budget with the key silence counts as used up
// if an agent is busy for longer without a usage report.
func TestSilenceOfABusyAgentUsesABudgetUp(t *testing.T) {
	budget := usage.Budget{Name: "b", Scope: usage.ScopeSession, Measure: usage.MeasureTokens, Limit: 1e9, Act: usage.ActInterrupt, Silence: time.Minute}
	count := func(b usage.Busy) int {
		return len(breaches([]usage.Budget{budget}, nil, []usage.Busy{b}, usage.Prices{}, start.Add(time.Hour)))
	}
	if got := count(usage.Busy{Session: "s", Since: start.Add(58 * time.Minute)}); got != 1 {
		t.Errorf("two silent minutes: %d breaches", got)
	}
	if got := count(usage.Busy{Session: "s"}); got != 0 {
		t.Errorf("idle: %d breaches", got)
	}
}

// silentFor returns the stored entry that an agent was silent for so long.
func silentFor(long time.Duration, at time.Time) usage.Entry {
	return usage.Entry{Run: "r", Message: "silent", Session: "s", Agent: "a", At: at, Silent: long}
}

// TestSilenceLastsUntilTheNextReport checks that a budget that is used up because of silence stays
// so until the agent reports usage, the window has passed, or a person lifts it. An idle agent does
// not end it.
func TestSilenceLastsUntilTheNextReport(t *testing.T) {
	budget := usage.Budget{Name: "b", Scope: usage.ScopeSession, Measure: usage.MeasureTokens, Limit: 1e9, Window: time.Hour, Act: usage.ActInterrupt, Silence: time.Minute}
	idle := []usage.Busy{{Session: "s", Agent: "a"}}
	noted := silentFor(2*time.Minute, start)
	told := ingest([]worker.TelemetryEvent{response("m", time.Minute, worker.Usage{Model: "m", OutputTokens: n(1)})})
	numberless := ingest([]worker.TelemetryEvent{response("m", time.Minute, worker.Usage{Model: "m"})})
	lift := usage.Entry{Run: "lift", Message: "1", Session: "s", At: start.Add(time.Minute), Lift: "b"}
	for _, c := range []struct {
		name    string
		entries []usage.Entry
		after   time.Duration
		want    bool
	}{
		{"it rests", []usage.Entry{noted}, 10 * time.Minute, true},
		{"it reports", append(told, noted), 10 * time.Minute, false},
		{"it reports without numbers", append(numberless, noted), 10 * time.Minute, true},
		{"it was shorter than it may", []usage.Entry{silentFor(time.Second, start)}, 10 * time.Minute, false},
		{"the window has passed", []usage.Entry{noted}, 61 * time.Minute, false},
		{"it was lifted", []usage.Entry{noted, lift}, 10 * time.Minute, false},
	} {
		got := breaches([]usage.Budget{budget}, c.entries, idle, usage.Prices{}, start.Add(c.after))
		if (len(got) == 1) != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
		if c.want && len(got) == 1 && !got[0].Until.Equal(start.Add(time.Hour)) {
			t.Errorf("%s: until %s", c.name, got[0].Until)
		}
	}
	budget.Window = 0
	if got := breaches([]usage.Budget{budget}, []usage.Entry{noted}, idle, usage.Prices{}, start.Add(1000*time.Hour)); len(got) != 1 || !got[0].Until.IsZero() {
		t.Errorf("without a window: %+v", got)
	}
}

// TestBudgetOfTimeCountsBusyTime checks that a budget that counts time adds up the time in which
// agents were busy, within its window.
func TestBudgetOfTimeCountsBusyTime(t *testing.T) {
	budget := usage.Budget{Name: "b", Scope: usage.ScopeAgent, Match: "a*", Measure: usage.MeasureTime, Limit: 3600, Window: 2 * time.Hour, Act: usage.ActHold}
	entries := []usage.Entry{
		{Run: "r", Message: "busy 1", Agent: "a1", Session: "s", At: start, Busy: 40 * time.Minute},
		{Run: "r", Message: "busy 2", Agent: "a1", Session: "s", At: start.Add(time.Hour), Busy: 20 * time.Minute},
		{Run: "r", Message: "busy 3", Agent: "other", Session: "o", At: start.Add(time.Hour), Busy: 200 * time.Minute},
	}
	got := breaches([]usage.Budget{budget}, entries, nil, usage.Prices{}, start.Add(time.Hour))
	if len(got) != 1 || got[0].Used != 3600 || !got[0].Until.Equal(start.Add(2*time.Hour)) {
		t.Fatalf("got %+v, want a breach of an hour until the first stretch leaves the window", got)
	}
	if want := "budget b: 1h0m0s of 1h0m0s in 2h"; got[0].Text() != want {
		t.Errorf("text %q, want %q", got[0].Text(), want)
	}
	if sums := usage.Add(entries, usage.Prices{}, usage.ByAll, time.UTC); len(sums) != 0 {
		t.Errorf("what the city notes was summed up as spent: %+v", sums)
	}
}

// TestMostSevereActionApplies checks that, of several budgets that are used up, the most severe
// action applies, and of equal ones the one that lasts longest.
func TestMostSevereActionApplies(t *testing.T) {
	over := func(name string, act usage.Act, until time.Time) usage.Use {
		return usage.Use{Budget: usage.Budget{Name: name, Scope: usage.ScopeCity, Act: act}, Over: true, Until: until}
	}
	uses := []usage.Use{
		over("warn", usage.ActWarn, time.Time{}), over("short", usage.ActHold, start), over("long", usage.ActHold, start.Add(time.Hour)),
		{Budget: usage.Budget{Name: "not over", Scope: usage.ScopeCity, Act: usage.ActStop}},
	}
	if act, u := usage.Worst(uses, "s", "a"); act != usage.ActHold || u.Budget.Name != "long" {
		t.Errorf("got %s by %s, want the hold that lasts longest", act, u.Budget.Name)
	}
}

// breaches returns the uses of budgets that are used up.
func breaches(budgets []usage.Budget, entries []usage.Entry, busy []usage.Busy, prices usage.Prices, now time.Time) []usage.Use {
	return slices.DeleteFunc(usage.Uses(budgets, entries, busy, prices, now), func(u usage.Use) bool { return !u.Over })
}
