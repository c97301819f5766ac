package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// talk prints one line for people.
func (a *app) talk(format string, args ...any) {
	fmt.Fprintf(a.Stderr, format+"\n", args...)
}

// document prints a value as one indented JSON document.
func (a *app) document(value any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// line prints a value of a stream as one line of JSON.
func (a *app) line(value any) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// color is an SGR parameter.
type color string

const (
	plain  color = ""
	bold   color = "1"
	faint  color = "2"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	cyan   color = "36"
)

func (a *app) paint(c color, text string) string {
	if !a.color || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// cell is one field of a table.
type cell struct {
	text  string
	color color
}

// table prints rows in columns that are as wide as their widest cell. A column
// without any text is left out. The last one is cut where the terminal ends.
type table struct {
	heads []string
	rows  [][]cell
}

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

func (t *table) widths() []int {
	widths := make([]int, len(t.heads))
	for _, row := range t.rows {
		for i := range row {
			row[i].text = oneLine(row[i].text)
			widths[i] = max(widths[i], displaywidth.String(row[i].text))
		}
	}
	for i, w := range widths {
		if w > 0 {
			widths[i] = max(w, displaywidth.String(t.heads[i]))
		}
	}
	return widths
}

// render returns the table, cut to a number of columns; zero is unlimited.
func (a *app) render(t *table, columns int) string {
	widths := t.widths()
	var out strings.Builder
	heads := make([]cell, len(t.heads))
	for i, head := range t.heads {
		heads[i] = cell{head, faint}
	}
	for _, row := range append([][]cell{heads}, t.rows...) {
		used, gap := 0, 0
		for i, c := range row {
			if widths[i] == 0 {
				continue
			}
			text := c.text
			if columns > 0 {
				text = displaywidth.TruncateString(text, max(0, columns-used-gap), "…")
			}
			if text != "" {
				out.WriteString(strings.Repeat(" ", gap))
				out.WriteString(a.paint(c.color, text))
				used, gap = used+gap+displaywidth.String(text), 0
			}
			gap += widths[i] - displaywidth.String(text) + 2
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func (a *app) print(t *table) { fmt.Fprint(a.Stdout, a.render(t, a.columns())) }

func (a *app) columns() int {
	if a.Width == nil || !a.IsTerminal(a.Stdout) {
		return 0
	}
	return a.Width()
}

// oneLine makes text safe for a table: one line, without control characters.
func oneLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// block makes text of several lines safe for a terminal.
func block(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// span tells a duration in one or two units.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < day:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%02dh", d/day, int(d.Hours())%24)
	}
}

// ago tells how long something is past.
func (a *app) ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := a.Now().Sub(t)
	if d < time.Second {
		return "now"
	}
	return span(d) + " ago"
}

// count writes a number with its noun.
func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
