package tui

import (
	"slices"
	"strconv"
	"strings"

	"gascity/internal/terminal/vt"
)

// page shows the output of a gc command.
type page struct {
	id    int
	title string
	lines []string // with the colors of gc
	part  string   // the last line, which has no end yet
	top   int
	done  bool
	stick bool // show the end while there is more output
}

// maxPage is the largest number of lines of a page; older ones are dropped.
const maxPage = 20_000

// pageOf returns the action that shows the output of a command about the selected agent.
func pageOf(verb string, flags ...string) func(*Model, string) []Effect {
	return func(m *Model, _ string) []Effect { return m.openPage(append([]string{verb, m.selected}, flags...)) }
}

// pageOfCity returns the action that shows the output of a command about the city.
func pageOfCity(args ...string) func(*Model, string) []Effect {
	return func(m *Model, _ string) []Effect { return m.openPage(args) }
}

// stickyCommands are the commands whose newest output is the most important: those that follow something, and those that print their progress.
var stickyCommands = []string{"events", "logs", "drain", "restart", "start", "stop", "wait"}

// openPage runs a command and shows its output.
func (m *Model) openPage(args []string) []Effect {
	effects := m.page.close()
	m.pages++
	m.page = page{id: m.pages, title: "gc " + strings.Join(args, " "), stick: slices.Contains(stickyCommands, args[0])}
	m.open(inPage)
	return append(effects, Command{ID: m.pages, Args: args})
}

// close ends the command of the page if it runs.
func (p *page) close() []Effect {
	if p.id == 0 || p.done {
		return nil
	}
	p.done = true
	return []Effect{CancelCommand{p.id}}
}

// add appends output.
func (p *page) add(msg PageMsg) {
	if msg.ID != p.id {
		return
	}
	lines := strings.Split(p.part+msg.Output, "\n")
	p.part = lines[len(lines)-1]
	p.lines = append(p.lines, lines[:len(lines)-1]...)
	p.done = p.done || msg.Done
	if p.done && p.part != "" {
		p.lines, p.part = append(p.lines, p.part), ""
	}
	if n := len(p.lines) - maxPage; n > 0 {
		p.lines = append([]string{}, p.lines[n:]...)
		p.top = max(0, p.top-n)
	}
	if p.stick {
		p.top = len(p.lines) // the model moves it into the page
	}
}

// clamp moves the first line into the page.
func (p *page) clamp(height int) {
	p.top = max(0, min(p.top, len(p.lines)-height))
}

// scroll moves the page by a number of lines. At its end new output is followed.
func (p *page) scroll(step, height int) {
	p.top += step
	p.stick = p.top >= len(p.lines)-height
	p.clamp(height)
}

// coloredText draws one line of the output of a gc command at row y. SGR sequences set the basic colors; other control sequences
// are left out.
func (a area) coloredText(y int, text string) {
	x, pen := 0, plain
	for text != "" {
		before, after, found := strings.Cut(text, "\x1b[")
		x = a.text(x, y, strings.TrimSuffix(before, "\r"), pen)
		end := strings.IndexFunc(after, func(r rune) bool { return r >= '@' && r <= '~' })
		if !found || end < 0 {
			return
		}
		if after[end] == 'm' {
			for code := range strings.SplitSeq(after[:end], ";") {
				pen = pen.sgr(code)
			}
		}
		text = after[end+1:]
	}
}

// sgr returns the style after a parameter of an SGR sequence.
func (s style) sgr(code string) style {
	n, err := strconv.Atoi(code)
	switch {
	case err != nil && code != "":
	case n == 0:
		return style{}
	case n == 1:
		s.attr |= vt.Bold
	case n == 2:
		s.attr |= vt.Dim
	case n == 7:
		s.attr |= vt.Reverse
	case n == 4:
		s.underline = true
	case n >= 30 && n < 38:
		s.fg = vt.Indexed(uint8(n - 30))
	case n >= 40 && n < 48:
		s.bg = vt.Indexed(uint8(n - 40))
	}
	return s
}
