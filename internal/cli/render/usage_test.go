package render

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
)

func num(v int) *int64 { return new(int64(v)) }

func TestUsagePage(t *testing.T) {
	u := client.Usage{
		By: "agent", Since: noon.Add(-24 * time.Hour), At: noon, Prices: "2026-03-01",
		Groups: []client.UsageSum{
			{Group: "coder", Responses: 212, Turns: 41, Tokens: client.UsageTokens{Input: num(1_234_567), CacheRead: num(45_600_000), Output: num(98_700)}, CostUSD: new(12.5), Unpriced: 2},
			{Group: "worker", Responses: 4, Turns: 3, Untold: 1, Tokens: client.UsageTokens{Input: num(999), CacheRead: num(0), Output: num(12)}, CostUSD: new(1.5)},
			{Group: "mute", Responses: 1, Untold: 1, Unpriced: 1},
		},
		Total: client.UsageSum{Responses: 217, Turns: 44, Untold: 2, Unpriced: 3, Tokens: client.UsageTokens{Input: num(1_235_566), CacheRead: num(45_600_000), Output: num(98_712)}, CostUSD: new(14.0)},
	}
	want := `≥$14.00 in the last 24h, prices of 2026-03-01

AGENT   TURNS  RESPONSES    INPUT  CACHE READ   OUTPUT     COST
coder      41        212    1.23M       45.6M    98.7k  ≥$12.50  ████████████████
worker      3          4     ≥999          ≥0      ≥12    $1.50  █▉
mute        -          1  unknown     unknown  unknown  unknown
total      44        217   ≥1.24M      ≥45.6M   ≥98.7k  ≥$14.00

2 responses reported no tokens, 3 responses without a known price; ≥ means at least
`
	if diff := cmp.Diff(want, (Formatter{Now: noon}).Usage(u)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUsageOfTools(t *testing.T) {
	u := client.Usage{By: "tool", Prices: "p", Groups: []client.UsageSum{{Group: "Bash", Calls: 12, Failed: 2, ToolSeconds: 90}, {Group: "Read", Calls: 3, ToolSeconds: 0.03}}}
	want := `all recorded usage, prices of p

TOOL  CALLS  FAILED  TIME  EACH
Bash     12       2    1m  7.5s
Read      3       -  30ms  10ms
`
	if diff := cmp.Diff(want, (Formatter{Now: noon}).Usage(u)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBudgetsPage(t *testing.T) {
	got := (Formatter{Now: noon}).Budgets([]client.Budget{
		{Name: "day", Scope: "city", Measure: "usd", Used: 20.5, Limit: 20, Window: 86400, Act: "hold", Over: true, Until: noon.Add(2 * time.Hour)},
		{Name: "tokens", Scope: "agent", Who: "coder", Measure: "tokens", Used: 850_000, Limit: 1_000_000, Window: 3600, Act: "interrupt", Unknown: "2 responses reported no numbers"},
		{Name: "mute", Scope: "city", Measure: "tokens", Limit: 1000, Act: "stop", Over: true, Unknown: "it is silent"},
		{Name: "ever", Scope: "session", Who: "gc-x", Measure: "time", Used: 7200, Limit: 3600, Act: "stop", Over: true},
	})
	want := `BUDGET  FOR       USED                         LIMIT                 ACTION     NOTE
day     the city  $20.50         ████████████  $20.00 in 24h       hold       used up, again in 2h00m, or now: gc usage lift day
tokens  coder     ≥850k tokens   ██████████░░  1.00M tokens in 1h interrupt  2 responses reported no numbers
mute    the city  ≥0 tokens      ████████████  1.00k tokens          stop       used up; allow a longer time, or: gc usage lift mute; it is silent
ever    gc-x      2h00m          ████████████  1h00m                 stop       used up; raise its limit, or: gc usage lift ever
`
	squeeze := func(s string) string {
		var out []string
		for line := range strings.Lines(s) {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(out, "\n")
	}
	if diff := cmp.Diff(squeeze(want), squeeze(got)); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, got)
	}
}

// TestStatusTellsWhatIsSpent: only where something is.
func TestStatusTellsWhatIsSpent(t *testing.T) {
	agent := client.Agent{Name: "a", State: client.StateRunning, Desired: client.StateRunning}
	quiet := client.Status{City: "c", Agents: []client.Agent{agent}}
	if got := (Formatter{Now: noon}).Status(quiet, nil, nil); strings.Contains(strings.ToLower(got), "spends") {
		t.Errorf("a city that spends nothing has a column for it:\n%s", got)
	}
	busy := quiet
	agent.Burn, agent.Held = &client.Burn{TokensPerMinute: new(12_340.0), USDPerHour: new(4.1), Unpriced: true}, "budget day: used up"
	busy.Agents = []client.Agent{agent}
	busy.Burn = &client.Burn{TokensPerMinute: new(20_000.0), Partial: true}
	busy.Budgets = []client.Budget{{Name: "day", Who: "a", Act: "hold", Over: true, Text: "budget day: 1,100 tokens of 1,000 tokens in 1h", Until: noon.Add(time.Minute)}}
	got := (Formatter{Now: noon}).Status(busy, nil, nil)
	for _, want := range []string{"spending: ≥20.0k tokens/min\n", "12.3k/min ≥$4.10/h", "prompts wait: a budget is used up", "budget: a, budget day: 1,100 tokens of 1,000 tokens in 1h; new prompts wait, again in 1m, or now: gc usage lift day"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
