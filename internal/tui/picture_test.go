package tui

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
)

// The measures of the picture, in pixels.
const (
	cellWidth, cellHeight = 8.43, 19
	margin                = 16
)

// svg draws what a terminal shows.
func svg(screen *vt.Screen) string {
	const ground, ink, pale = "#0d1117", "#d7dce2", "#8b949e"
	colors := map[vt.Color]string{0: ink, vt.Red: "#ff7b72", vt.Green: "#7ee787", vt.Yellow: "#e3b341", vt.Blue: "#79b8ff", vt.Magenta: "#d2a8ff", vt.Cyan: "#76d9e6"}
	cols, rows := screen.Size()
	width, height := float64(cols)*cellWidth+2*margin, rows*cellHeight+2*margin
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", ground)
	for y := range rows {
		cells := screen.Row(y)
		for x := 0; x < len(cells); {
			end, text, s := x, "", cells[x].Style
			for end < len(cells) && cells[end].Style == s {
				text += cells[end].Text
				end++
			}
			left, color, weight := margin+float64(x)*cellWidth, colors[s.FG], ""
			if s.Has(vt.Dim) {
				color = pale
			}
			if s.Has(vt.Reverse) {
				fmt.Fprintf(&out, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>`+"\n", left, margin+y*cellHeight, float64(end-x)*cellWidth, cellHeight, color)
				color = ground
			}
			if s.Has(vt.Bold) {
				weight = ` font-weight="bold"`
			}
			if trimmed := strings.TrimRight(text, " "); trimmed != "" {
				fmt.Fprintf(&out, `<text x="%.2f" y="%d" textLength="%.2f" xml:space="preserve" fill="%s"%s>%s</text>`+"\n",
					left, margin+(y+1)*cellHeight-5, float64(textfmt.Width(trimmed))*cellWidth, color, weight, html.EscapeString(trimmed))
			}
			x = end
		}
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// TestPictureIsCurrent compares the picture of the documentation with what the dashboard draws.
func TestPictureIsCurrent(t *testing.T) {
	m := newDemo(t, 110, 28)
	s := demo()
	s.City = "shop"
	for i := range s.Agents {
		s.Agents[i].Name = strings.ReplaceAll(s.Agents[i].Name, "レビュー担当者", "reviewer")
	}
	m.Update(start, StatusMsg{s})
	q := asked()
	q.Prompt = "Bash command\n\n  npm publish\n\nDo you want to proceed?"
	q.Options[1] = "Yes, and do not ask again for npm publish"
	m.Update(start, QuestionsMsg{[]client.Pending{q}})
	m.Update(start, ScreenMsg{Agent: "web/tester", Screen: screenOf(66, 16, "\x1b[35m✻\x1b[m \x1b[1mWelcome\x1b[m\r\n\r\n\x1b[2m❯ publish version 2.1 when the tests pass\x1b[m\r\n\r\n"+
		"\x1b[32m●\x1b[m All 412 tests pass. The next step is to publish.\r\n\x1b[32m●\x1b[m \x1b[1mBash\x1b[m(npm publish)\r\n  └ waits for your approval\r\n")})
	picture := svg(drawn(t, m))
	file := filepath.Join("..", "..", "docs", "images", "top.svg")
	if *update {
		if err := os.WriteFile(file, []byte(picture), 0o644); err != nil { //nolint:gosec // a picture of the documentation
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != picture {
		t.Errorf("docs/images/top.svg is out of date (%v), run: make gen", err)
	}
}
