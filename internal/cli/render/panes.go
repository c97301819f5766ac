package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Pane is the screen of an agent on a page.
type Pane struct {
	Agent client.Agent
	Rows  []string // what its terminal shows
	// EndedAt is set if the agent does not run: Rows is the last screen of the instance that ended then.
	EndedAt time.Time
	Problem string // why there is no screen; empty if there is one
}

const (
	paneColumns = 78    // the smallest width of a pane beside another one
	paneRows    = 5     // the smallest height of a pane: its head, three rows and an empty one
	paneBorder  = " │ " // between two panes
)

// Panes returns the page of gc peek --follow: each screen below a line with the agent's name and state, side by side if the
// terminal is wide enough. Of each screen it shows the last rows. One screen alone is wrapped, several are cut at the right.
func (s Formatter) Panes(panes []Pane) string {
	if s.Columns <= 0 || s.Rows <= 0 {
		var out strings.Builder
		for _, p := range panes {
			out.WriteString(strings.Join(s.pane(p, len(panes) == 1, 0), "\n") + "\n\n")
		}
		return out.String()
	}
	across := min(max(1, s.Columns/paneColumns), len(panes))
	down := (len(panes) + across - 1) / across
	left := s.Rows
	var missing int
	if most := max(1, (left-1)/paneRows); down > most {
		missing = len(panes) - most*across
		panes, down, left = panes[:most*across], most, left-1
	}
	width := (s.Columns - (across-1)*textfmt.Width(paneBorder)) / across
	var out strings.Builder
	for row := range down {
		height := left / (down - row)
		left -= height
		group := panes[row*across : min((row+1)*across, len(panes))]
		var cells [][]string
		for _, p := range group {
			inner := s
			inner.Columns = width
			cells = append(cells, inner.pane(p, len(panes) == 1, height))
		}
		for y := range height {
			for x, cell := range cells {
				line := ""
				if y < len(cell) {
					line = cell[y]
				}
				if x > 0 {
					out.WriteString(s.Paint(textfmt.Faint, paneBorder))
				}
				out.WriteString(line)
				if x < len(cells)-1 {
					out.WriteString(strings.Repeat(" ", max(0, width-textfmt.Visible(line))))
				}
			}
			out.WriteByte('\n')
		}
	}
	if missing > 0 {
		more := textfmt.Cut("… "+textfmt.Count(missing, "more agent")+"; enlarge the terminal, or name fewer agents", s.Columns)
		fmt.Fprintln(&out, s.Paint(textfmt.Faint, more))
	}
	return out.String()
}

// pane returns the lines of one pane: the head and the last rows of the screen, at most height lines, unless that is zero.
func (s Formatter) pane(p Pane, alone bool, height int) []string {
	lines := []string{textfmt.Cut(s.paneHead(p), s.Columns)}
	var body []string
	for _, row := range TrimRows(p.Rows) {
		row = textfmt.OneLine(row)
		if s.Columns <= 0 {
			body = append(body, row)
			continue
		}
		row = textfmt.ShortenRules(row, s.Columns)
		if alone {
			body = append(body, textfmt.Wrap(row, s.Columns)...)
		} else {
			body = append(body, textfmt.Cut(row, s.Columns))
		}
	}
	if len(body) == 0 && p.Problem != "" {
		body = textfmt.Wrap(s.Paint(textfmt.Faint, textfmt.OneLine(p.Problem)), s.Columns)
	}
	if height == 0 {
		return append(lines, body...)
	}
	room := height - len(lines)
	if !alone {
		room-- // an empty line separates it from the pane below
	}
	return append(lines, body[max(0, len(body)-max(0, room)):]...)
}

// paneHead returns the name and the state of an agent in one line.
func (s Formatter) paneHead(p Pane) string {
	a := p.Agent
	head := s.Paint(textfmt.Bold, textfmt.OneLine(a.Name)) + "  "
	if p.EndedAt.IsZero() {
		head += s.headline(a)
	} else {
		head += s.Paint(StateColor(a.State), textfmt.OneLine(a.State)) + " " + textfmt.Ago(s.Now, p.EndedAt) + s.Paint(textfmt.Faint, ", last screen")
	}
	if a.Pending > 0 {
		head += ", " + s.Paint(textfmt.Yellow, "needs you: gc pending")
	}
	return head
}

// TrimRows returns the rows without empty ones at the end.
func TrimRows(rows []string) []string {
	last := len(rows)
	for last > 0 && strings.TrimSpace(rows[last-1]) == "" {
		last--
	}
	return slices.Clone(rows[:last])
}
