package tui

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// The colors of the pictures that are not of the palette: background, text and faint text.
const ground, ink, pale = "#0d1117", "#d7dce2", "#8b949e"

// palette has the colors of the terminal in the pictures.
var palette = map[vt.Color]string{0: ink, vt.Red: "#ff7b72", vt.Green: "#7ee787", vt.Yellow: "#e3b341", vt.Blue: "#79b8ff", vt.Magenta: "#d2a8ff", vt.Cyan: "#76d9e6"}

// svg draws what a terminal shows.
func svg(screen *vt.Screen) string {
	cols, rows := screen.Size()
	var out strings.Builder
	out.WriteString(svgBegin(cols, rows))
	for y := range rows {
		out.WriteString(svgRow(screen.Row(y), y))
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// svgBegin returns the begin of a picture of a size in characters.
func svgBegin(cols, rows int) string {
	width, height := float64(cols)*cellWidth+2*margin, rows*cellHeight+2*margin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14">`+"\n", width, height, width, height) +
		fmt.Sprintf(`<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", ground)
}

// svgRow draws a row of a terminal.
func svgRow(cells []vt.Cell, y int) string {
	var out strings.Builder
	for x := 0; x < len(cells); {
		end, text, s := x, "", cells[x].Style
		for end < len(cells) && cells[end].Style == s {
			text += cells[end].Text
			end++
		}
		left, color, weight := margin+float64(x)*cellWidth, palette[s.FG], ""
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
	return out.String()
}

// scene is a part of a recording: what the terminal shows for a time, and below it what the person does.
type scene struct {
	seconds int
	key     string // that the person has pressed; empty: none
	caption string
	screen  *vt.Screen
}

// animation draws scenes one after the other, again and again, without a script. A row that is equal in several scenes is drawn once. Where
// nothing may move, the scene still is shown.
func animation(scenes []scene, still int) string {
	cols, rows := scenes[0].screen.Size()
	total := 0
	for _, s := range scenes {
		total += s.seconds
	}
	var order []string           // drawn parts, in the order of rows and scenes
	shown := map[string]uint64{} // in which scenes a part is visible: a bit for each
	for y := range rows + 1 {
		for i, s := range scenes {
			part := svgCaption(s, rows)
			if y < rows {
				part = svgRow(s.screen.Row(y), y)
			}
			if part == "" {
				continue
			}
			if shown[part] == 0 {
				order = append(order, part)
			}
			shown[part] |= 1 << i
		}
	}
	always := uint64(1)<<len(scenes) - 1
	var out, style strings.Builder
	styled := map[uint64]bool{always: true}
	for _, part := range order {
		set := shown[part]
		if set == always {
			out.WriteString(part)
			continue
		}
		fmt.Fprintf(&out, `<g class="s%d">`+"\n%s</g>\n", set, part)
		if styled[set] {
			continue
		}
		styled[set] = true
		fmt.Fprintf(&style, "@keyframes s%d{", set)
		at := 0
		for i, s := range scenes {
			fmt.Fprintf(&style, "%s{visibility:%s}", percentOf(at, total), visibility(set>>i&1 == 1))
			at += s.seconds
		}
		fmt.Fprintf(&style, "}\n.s%d{visibility:%s;animation:s%d %ds step-end infinite}\n", set, visibility(set>>still&1 == 1), set, total)
	}
	style.WriteString("@media (prefers-reduced-motion:reduce){g{animation:none!important}}\n")
	return svgBegin(cols, rows+2) + "<style>\n" + style.String() + "</style>\n" + out.String() + "</svg>\n"
}

func visibility(on bool) string {
	if on {
		return "visible"
	}
	return "hidden"
}

// percentOf returns a time as a part of the whole, for a key frame.
func percentOf(at, total int) string {
	return strconv.FormatFloat(float64(at*10000/total)/100, 'f', -1, 64) + "%"
}

// svgCaption draws the key that the person presses, and what it does, below the terminal.
func svgCaption(s scene, rows int) string {
	base := margin + (rows+2)*cellHeight - 8
	x := float64(margin)
	var out strings.Builder
	if s.key != "" {
		width := float64(len(s.key))*cellWidth + 16
		fmt.Fprintf(&out, `<rect x="%.2f" y="%d" width="%.2f" height="24" rx="5" fill="none" stroke="%s"/>`+"\n", x, base-17, width, palette[vt.Yellow])
		fmt.Fprintf(&out, `<text x="%.2f" y="%d" fill="%s" font-weight="bold">%s</text>`+"\n", x+8, base, palette[vt.Yellow], html.EscapeString(s.key))
		x += width + 12
	}
	fmt.Fprintf(&out, `<text x="%.2f" y="%d" fill="%s">%s</text>`+"\n", x, base, ink, html.EscapeString(s.caption))
	return out.String()
}

// published returns the city of the pictures, with the question of one agent.
func published() (client.Status, client.Pending) {
	s := demo()
	s.City = "shop"
	for i := range s.Agents {
		s.Agents[i].Name = strings.ReplaceAll(s.Agents[i].Name, "レビュー担当者", "reviewer")
	}
	q := asked()
	q.Prompt = "Bash command\n\n  npm publish\n\nDo you want to proceed?"
	q.Options[1] = "Yes, and do not ask again for npm publish"
	return s, q
}

// testerScreen returns the screen of the agent in the pictures that asks, as far as it has come.
func testerScreen(output string) *Screen {
	return screenOf(66, 16, "\x1b[35m✻\x1b[m \x1b[1mWelcome\x1b[m\r\n\r\n\x1b[2m❯ publish version 2.1 when the tests pass\x1b[m\r\n\r\n"+output)
}

const (
	testsRun    = "\x1b[32m●\x1b[m \x1b[1mBash\x1b[m(npm test)\r\n  └ running …\r\n"
	testsPassed = "\x1b[32m●\x1b[m All 412 tests pass. The next step is to publish.\r\n\x1b[32m●\x1b[m \x1b[1mBash\x1b[m(npm publish)\r\n"
	waits       = "  └ waits for your approval\r\n"
)

// TestPictureIsCurrent compares the picture of the documentation with what the dashboard draws.
func TestPictureIsCurrent(t *testing.T) {
	m := newDemo(t, 110, 28)
	s, q := published()
	m.Update(start, StatusMsg{s})
	m.Update(start, QuestionsMsg{[]client.Pending{q}})
	m.Update(start, ScreenMsg{Agent: "web/tester", Screen: testerScreen(testsPassed + waits)})
	compareWithFile(t, "top.svg", svg(drawn(t, m)))
}

// TestRecordingIsCurrent compares the animated picture of the documentation with what the dashboard draws: an agent asks, and three keys
// answer it.
func TestRecordingIsCurrent(t *testing.T) {
	m := newDemo(t, 110, 28)
	asks, q := published()
	works := asks
	works.Agents = slices.Clone(asks.Agents)
	tester := slices.IndexFunc(works.Agents, func(a client.Agent) bool { return a.Name == "web/tester" })
	busy := works.Agents[tester]
	busy.Pending, busy.Activity = 0, client.Activity{State: "busy", Since: minutesAgo(3)}
	works.Agents[tester] = busy
	var scenes []scene
	show := func(seconds int, key, caption string) {
		scenes = append(scenes, scene{seconds, key, caption, drawn(t, m)})
	}

	m.Update(start, QuestionsMsg{})
	m.Update(start, StatusMsg{works})
	m.Update(start, ScreenMsg{Agent: "web/coder", Screen: screenOf(66, 16, "\x1b[35m✻\x1b[m \x1b[1mWelcome\x1b[m\r\n\r\n\x1b[2m❯ add a filter to the order list\x1b[m\r\n\r\n\x1b[32m●\x1b[m \x1b[1mUpdate\x1b[m(orders/list.ts)\r\n  └ 14 lines added\r\n")})
	m.Update(start, ScreenMsg{Agent: "web/tester", Screen: testerScreen(testsRun)})
	m.selectAgent("web/coder")
	show(3, "", "No agent needs you.")
	m.Update(start, StatusMsg{asks})
	m.Update(start, QuestionsMsg{[]client.Pending{q}})
	m.Update(start, ScreenMsg{Agent: "web/tester", Screen: testerScreen(testsPassed + waits)})
	show(3, "", "web/tester asks, and moves to the top of the list.")
	press(m, "n")
	show(3, "n", "selects the next agent that needs you: its question, its screen")
	press(m, "a")
	show(3, "a", "opens the question")
	effects := press(m, "2")
	if len(effects) != 1 || effects[0].(Answer).Option != q.Options[1] {
		t.Fatalf("the keys of the recording have the effects %v, want the answer", effects)
	}
	m.Update(start, AnsweredMsg{q.ID})
	m.Update(start, StatusMsg{works})
	m.Update(start, NoticeMsg{Text: "answered web/tester: " + q.Options[1]})
	m.Update(start, ScreenMsg{Agent: "web/tester", Screen: testerScreen(testsPassed + "  └ + shop@2.1.0\r\n\x1b[32m●\x1b[m Version 2.1 is published.\r\n")})
	show(4, "2", "answers, and the agent goes on")

	picture := animation(scenes, 2)
	if len(picture) > 150<<10 || strings.Contains(picture, "<script") || strings.Contains(picture, "href") {
		t.Errorf("the recording has %d bytes, or is not self-contained", len(picture))
	}
	compareWithFile(t, "top-answer.svg", picture)
}

// compareWithFile compares a picture with its file in the documentation, or writes the file.
func compareWithFile(t *testing.T, name, picture string) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", "images", name)
	if *update {
		if err := os.WriteFile(file, []byte(picture), 0o644); err != nil { //nolint:gosec // a picture of the documentation
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != picture {
		t.Errorf("docs/images/%s is out of date (%v), run: make gen", name, err)
	}
}
