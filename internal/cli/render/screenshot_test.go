package render

import (
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
)

var update = flag.Bool("update", false, "write the picture of the README")

// The measures of the picture, in pixels.
const (
	cellWidth, cellHeight = 8.43, 19
	margin                = 16
)

// palette has the colors of the terminal in the picture: the standard ones, default text and faint text.
var palette = map[vt.Color]string{0: "#d7dce2", vt.Indexed(1): "#ff7b72", vt.Indexed(2): "#7ee787", vt.Indexed(3): "#e3b341", vt.Indexed(6): "#76d9e6"}

const faint = "#8b949e"

// svg draws a screen that a terminal of this size would show.
func svg(output string, columns, rows int) string {
	screen := vt.New(columns, rows, nil)
	fmt.Fprint(screen, strings.ReplaceAll(output, "\n", "\r\n"))
	var out strings.Builder
	width, height := float64(columns)*cellWidth+2*margin, rows*cellHeight+2*margin
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n")
	for y := range rows {
		cells := screen.Row(y)
		for x := 0; x < len(cells); {
			end, words := x, ""
			for end < len(cells) && cells[end].Style == cells[x].Style {
				words += cells[end].Text
				end++
			}
			if trimmed := strings.TrimRight(words, " "); trimmed != "" {
				color, weight := palette[cells[x].Style.FG], ""
				if cells[x].Style.Has(vt.Dim) {
					color = faint
				}
				if cells[x].Style.Has(vt.Bold) {
					weight = ` font-weight="bold"`
				}
				columns := textfmt.Width(trimmed)
				fmt.Fprintf(&out, `<text x="%.2f" y="%d" textLength="%.2f" xml:space="preserve" fill="%s"%s>%s</text>`+"\n",
					margin+float64(x)*cellWidth, margin+(y+1)*cellHeight-5, float64(columns)*cellWidth, color, weight, html.EscapeString(trimmed))
			}
			x = end
		}
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// The picture of the README is what gc status prints for a city in which one agent asks a question
// and another one retries a request.
func TestPictureOfTheStatusIsCurrent(t *testing.T) {
	at := func(ago time.Duration) time.Time { return noon.Add(-ago) }
	running := func(name, activity string, up, output time.Duration) client.Agent {
		return client.Agent{
			Name: name, Provider: "pty", State: client.StateRunning, Desired: client.StateRunning, Reason: client.RunsAsConfigured,
			StartedAt: at(up), ActiveAt: at(output), Activity: client.Activity{State: activity, Confidence: "certain"},
		}
	}
	agents := []client.Agent{
		running("coder", "waiting", 62*time.Minute, 2*time.Minute), running("reviewer", "busy", 62*time.Minute, 19*time.Minute),
		running("tester", "busy", 12*time.Minute, time.Second), running("docs", "idle", 62*time.Minute, 8*time.Minute),
	}
	agents[0].Pending, agents[0].Queued, agents[0].Activity.Kind = 1, 2, "permission"
	agents[1].Queued = 1
	agents[1].Obstacle = &client.AgentObstacle{Kind: client.ObstacleRetrying, Detail: "529 Overloaded", Attempt: 5, Of: 10, NextTry: noon.Add(41 * time.Second)}
	status := client.Status{City: "shop", Root: "~/shop", Agents: agents}
	question := client.Pending{
		ID: "q-6yz76tmf", Agent: "coder", Kind: "permission", State: client.PendingOpen, Tool: "Bash", Input: "npm publish", Since: at(2 * time.Minute),
		Options: []string{"Yes", "Yes, and don't ask again for npm publish", "No"}, Suggested: "No",
	}
	const columns = 96
	sheet := Formatter{Now: noon, Columns: columns, Painter: textfmt.Painter{On: true}}
	output := strings.TrimRight("\x1b[2m$\x1b[0m gc status\n"+sheet.Status(status, []client.Pending{question}, nil), "\n")
	want := svg(output, columns, strings.Count(output, "\n")+1)
	path := filepath.Join("..", "..", "..", "docs", "images", "status.svg")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/images/status.svg is out of date, run: make gen")
	}
}
