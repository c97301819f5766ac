package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// TestPanesFitTheTerminal: on every size the page fits, shows the last rows of each screen that has room, and says how many agents
// have none.
func TestPanesFitTheTerminal(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, size := range [][2]int{{20, 5}, {60, 15}, {80, 24}, {100, 30}, {200, 60}, {300, 100}} {
		for _, n := range []int{1, 2, 3, 7, 40} {
			var panes []Pane
			for i := range n {
				p := Pane{Agent: client.Agent{Name: fmt.Sprint("agent", i), State: client.StateRunning}}
				for y := range 50 {
					p.Rows = append(p.Rows, fmt.Sprintf("%s row %d 日本語 \x1b[31m", strings.Repeat("wide ", 30), y))
				}
				p.Rows = append(p.Rows, strings.Repeat("─", 150), "last", "", "")
				panes = append(panes, p)
			}
			page := Formatter{Now: now, Columns: size[0], Rows: size[1]}.Panes(panes)
			lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
			if len(lines) > size[1] {
				t.Errorf("%d panes on %v have %d lines", n, size, len(lines))
			}
			for _, line := range lines {
				if textfmt.Width(line) > size[0] || strings.Contains(line, "\x1b") {
					t.Errorf("%d panes on %v have the line %q of %d columns", n, size, line, textfmt.Width(line))
				}
			}
			heads, last := strings.Count(page, "  running"), strings.Count(page, "last")
			if heads != last || heads < n && !strings.Contains(page, fmt.Sprintf("… %d more agent", n-heads)) {
				t.Errorf("%d panes on %v: %d heads and %d last rows:\n%s", n, size, heads, last, page)
			}
		}
	}
}

func TestPaneOfAStoppedAgent(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	page := Formatter{Now: now, Columns: 80, Rows: 24}.Panes([]Pane{
		{Agent: client.Agent{Name: "coder", State: client.StateStopped}, EndedAt: now.Add(-5 * time.Minute), Rows: []string{"bye"}},
		{Agent: client.Agent{Name: "idle", State: client.StateSuspended}, Problem: "idle does not run and has no screen"},
	})
	for _, want := range []string{"coder  stopped 5m ago, last screen\nbye\n", "idle  suspended\nidle does not run and has no screen\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
