package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/test/citytest"
	"gascity/worker"
)

// spend reports the usage of one turn.
func spend(t *testing.T, w *worker.Client, id string, tokens int64, usd float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := w.Telemetry(ctx, worker.TelemetryEvent{
		Type: worker.TurnComplete, Timestamp: time.Now(), MessageID: id, Usage: &worker.Usage{Model: "m", InputTokens: &tokens, OutputTokens: &tokens, CostUSD: &usd},
	}); err != nil {
		t.Fatal(err)
	}
}

// An agent that reports its usage has a chart and a table of it, its cost and its budget are in the fleet, and a new report changes
// all of them without a reload.
func TestUsageOverTime(t *testing.T) {
	city := citytest.New(t, "[[usage.budgets]]\nname = \"day\"\nmeasure = \"usd\"\nscope = \"agent\"\nlimit = 10\nwindow = \"24h\"\nact = \"hold\"\n"+
		agent("writer", idle)+agent("reader", idle))
	city.AwaitRunning("writer", runtime.ActivityIdle)
	w := city.Worker("writer")
	spend(t, w, "m1", 50_000, 2)
	spend(t, w, "m2", 20_000, 1)
	p := openConsole(t, city, phone)
	p.expect("/terminal")
	p.open("#/agent/writer/usage")
	p.until("the total is shown", `document.querySelector('.usage-total')?.innerText.startsWith('140k tokens · $3.00')`)
	bars := `document.querySelectorAll('.chart rect').length`
	if n, rows := get[int](p, bars), get[int](p, `document.querySelectorAll('.usage tbody tr').length`); rows < 1 || rows > 2 || n != 2*rows {
		t.Errorf("%d bars are drawn for %d hours, want one for tokens and one for cost", n, rows) // two if the hour has ended meanwhile
	}
	if first := p.text(".usage tbody tr"); !strings.Contains(first, "k") || !strings.Contains(first, "$") {
		t.Errorf("the newest hour is %q", first)
	}
	p.until("the budget of the agent is shown", `document.querySelector('.usage .budgets')?.innerText.includes('day')`)
	for _, theme := range []string{"light", "dark"} {
		p.setTheme(theme)
		p.checkAccess("usage, " + theme)
	}
	if wide := get[int64](p, `document.documentElement.scrollWidth`); wide > phone {
		t.Errorf("the page is %d px wide", wide)
	}
	p.tap(".usage .chip", "30 days")
	p.until("days are shown", `document.querySelector('.usage th')?.innerText === 'Day' && document.querySelectorAll('.usage tbody tr').length <= 2`)

	d := openConsole(t, city, desk)
	d.open("#/fleet")
	cost := `document.querySelector('.agent-row[data-agent=writer] .c-cost')?.innerText`
	d.until("cost and budget are in the fleet", cost+`?.includes('/h') && `+cost+`.includes('30%')`)
	used := 0.42
	if _, err := w.Telemetry(t.Context(), worker.TelemetryEvent{Type: worker.ContextPressure, Timestamp: time.Now(), ContextUsage: &used}); err != nil {
		t.Fatal(err)
	}
	d.until("the context is in the fleet", `document.querySelector('.agent-row[data-agent=writer] .c-context')?.innerText.includes('42%')`)
	spend(t, w, "m3", 1000, 9)
	d.until("the budget that is used up is shown", cost+`?.includes('120%')`)
	d.open("#/agent/writer")
	d.until("the page of the agent says that it is held", fmt.Sprintf(`document.querySelector('.agent-state')?.innerText.includes(%q)`, "budget"))
	d.open("#/agent/reader/usage")
	d.until("an agent without usage says so", `document.querySelector('.usage')?.innerText.includes('no usage')`)
}
