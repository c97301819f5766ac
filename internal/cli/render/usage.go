package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// The text for a number that was not reported, and the mark of a sum that lacks values.
const (
	notKnown = "unknown"
	atLeast  = "≥"
)

// Usage returns a table of tokens and costs with a row for each group, and a row for the total.
func (s Formatter) Usage(u client.Usage) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", s.usageHead(u))
	if u.By == "tool" {
		out.WriteString(s.tools(u))
		return out.String()
	}
	heads := []string{cmp.Or(strings.ToUpper(textfmt.OneLine(u.By)), "GROUP"), "TURNS", "RESPONSES", "INPUT", "CACHE READ", "CACHE WRITE", "OUTPUT", "REASONING", "COST", ""}
	groups := slices.Clone(u.Groups)
	if len(groups) > 1 {
		total := u.Total
		total.Group = "total"
		groups = append(groups, total)
	}
	grid := [][]textfmt.Cell{}
	most := mostCost(u.Groups)
	for i, g := range groups {
		if at, err := time.Parse(time.RFC3339, g.Group); err == nil && u.By == "hour" {
			g.Group = at.Format("2006-01-02 15:04")
		}
		row := usageRow(g)
		if i == len(u.Groups) {
			for at := range row {
				row[at].Color = cmp.Or(row[at].Color, textfmt.Bold)
			}
		} else {
			row[len(row)-1] = textfmt.Painted(share(g.CostUSD, most), textfmt.Cyan)
		}
		grid = append(grid, row)
	}
	dropUnknown(grid, 4, 5, 7)
	out.WriteString(s.Table(alignRight(heads, grid)))
	if notes := usageNotes(u); notes != "" {
		fmt.Fprintf(&out, "\n%s\n", s.Paint(textfmt.Faint, notes))
	}
	return out.String()
}

// usageHead returns the line above the table: the total cost, the period and the date of the prices.
func (s Formatter) usageHead(u client.Usage) string {
	head := "all recorded usage"
	if !u.Since.IsZero() {
		head = "the last " + round(s.Now.Sub(u.Since))
	}
	if u.Total.CostUSD != nil {
		head = s.Paint(textfmt.Bold, dollars(*u.Total.CostUSD, u.Total.Unpriced > 0)) + " in " + head
	}
	return head + s.Paint(textfmt.Faint, ", prices of "+cmp.Or(textfmt.OneLine(u.Prices), "no date"))
}

// round returns a duration in whole days or hours if it is a multiple, else as [textfmt.Span] does.
func round(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= time.Hour {
		d = d.Round(time.Minute)
	}
	switch {
	case d > day && d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return textfmt.Span(d)
}

// usageRow returns the row of one group in the table of usage: its name, numbers of turns and responses, five kinds of
// tokens, and the cost.
func usageRow(g client.UsageSum) []textfmt.Cell {
	row := []textfmt.Cell{{Text: textfmt.OneLine(g.Group)}, {Text: count(g.Turns)}, {Text: count(g.Responses)}}
	for _, n := range []*int64{g.Tokens.Input, g.Tokens.CacheRead, g.Tokens.CacheWrite, g.Tokens.Output, g.Tokens.Reasoning} {
		row = append(row, tokenCell(n, g.Untold > 0))
	}
	cost := textfmt.Painted(notKnown, textfmt.Yellow)
	if g.CostUSD != nil {
		cost = textfmt.Cell{Text: dollars(*g.CostUSD, g.Unpriced > 0)}
	}
	return append(row, cost, textfmt.Cell{})
}

// count returns a number as text.
func count(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// tokenCell returns the cell of a number of tokens; nil is shown as unknown. With partial, some responses did not
// report the number, so the cell shows it as a minimum.
func tokenCell(n *int64, partial bool) textfmt.Cell {
	if n == nil {
		return textfmt.Painted(notKnown, textfmt.Yellow)
	}
	return textfmt.Cell{Text: moreThan(partial) + tokens(*n)}
}

// tokens returns a number of tokens with three digits and a unit, such as 1.23k.
func tokens(n int64) string {
	v := float64(n)
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.*f%s", digits(v/unit.size), v/unit.size, unit.name)
		}
	}
	return fmt.Sprint(n)
}

// digits returns how many digits to show after the decimal point, so that the number has three digits.
func digits(v float64) int {
	switch {
	case v < 10:
		return 2
	case v < 100:
		return 1
	}
	return 0
}

// dollars returns an amount of money; amounts below 10 cents have four decimals. With partial, the price of some
// responses is not known, so the text shows the amount as a minimum.
func dollars(v float64, partial bool) string {
	form := "$%.2f"
	if v > 0 && v < 0.1 {
		form = "$%.4f"
	}
	return moreThan(partial) + fmt.Sprintf(form, v)
}

// mostCost returns the greatest known cost of all groups; zero if no cost is known.
func mostCost(groups []client.UsageSum) float64 {
	most := 0.0
	for _, g := range groups {
		if g.CostUSD != nil {
			most = max(most, *g.CostUSD)
		}
	}
	return most
}

// shareWidth is the width, in columns, of the bar of the greatest cost.
const shareWidth = 16

// share returns a bar for a cost, relative to the greatest cost, with a resolution of 1/8 column.
func share(cost *float64, most float64) string {
	if cost == nil || most <= 0 || *cost <= 0 {
		return ""
	}
	eighths := max(1, int(*cost/most*shareWidth*8+0.5))
	return strings.Repeat("█", eighths/8) + strings.TrimSpace(string([]rune(" ▏▎▍▌▋▊▉")[eighths%8]))
}

// dropUnknown empties the given columns if no group has a value in them: some model providers do not
// report them at all.
func dropUnknown(grid [][]textfmt.Cell, columns ...int) {
	for _, at := range columns {
		if slices.ContainsFunc(grid, func(row []textfmt.Cell) bool { return row[at].Text != notKnown }) {
			continue
		}
		for _, row := range grid {
			row[at].Text = ""
		}
	}
}

// alignRight returns a table whose columns are aligned to the right, except the first and the
// last one.
func alignRight(heads []string, grid [][]textfmt.Cell) *textfmt.Table {
	heads = slices.Clone(heads)
	for at := 1; at < len(heads)-1; at++ {
		if !slices.ContainsFunc(grid, func(row []textfmt.Cell) bool { return row[at].Text != "" }) {
			continue
		}
		width := textfmt.Width(heads[at])
		for _, row := range grid {
			width = max(width, textfmt.Width(row[at].Text))
		}
		heads[at] = leftPad(heads[at], width)
		for _, row := range grid {
			row[at].Text = leftPad(row[at].Text, width)
		}
	}
	return &textfmt.Table{Heads: heads, Rows: grid}
}

// leftPad returns a text with blanks before it, so that it has at least width columns.
func leftPad(words string, width int) string {
	return strings.Repeat(" ", max(0, width-textfmt.Width(words))) + words
}

// usageNotes returns a note about values that are missing; empty if none are.
func usageNotes(u client.Usage) string {
	var parts []string
	if n := u.Total.Untold; n > 0 {
		parts = append(parts, textfmt.Count(n, "response")+" reported no tokens")
	}
	if n := u.Total.Unpriced; n > 0 {
		parts = append(parts, textfmt.Count(n, "response")+" without a known price")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "; " + atLeast + " means at least"
}

// tools returns the table of gc usage --by tool.
func (s Formatter) tools(u client.Usage) string {
	grid := [][]textfmt.Cell{}
	for _, g := range u.Groups {
		failed := textfmt.Cell{Text: count(g.Failed)}
		if g.Failed > 0 {
			failed.Color = textfmt.Yellow
		}
		each := ""
		if g.Calls > 0 {
			each = formatSeconds(g.ToolSeconds / float64(g.Calls))
		}
		grid = append(grid, []textfmt.Cell{{Text: textfmt.OneLine(g.Group)}, {Text: count(g.Calls)}, failed, {Text: formatSeconds(g.ToolSeconds)}, {Text: each}, {}})
	}
	return s.Table(alignRight([]string{"TOOL", "CALLS", "FAILED", "TIME", "EACH", ""}, grid))
}

// formatSeconds returns a duration that is given in seconds: below 10 s in milliseconds precision, otherwise rounded
// for people.
func formatSeconds(s float64) string {
	d := seconds(s)
	if d < 10*time.Second {
		return d.Round(time.Millisecond).String()
	}
	return textfmt.Span(d)
}

// Budgets returns a table of budgets with the used amount of each.
func (s Formatter) Budgets(budgets []client.Budget) string {
	t := &textfmt.Table{Heads: []string{"BUDGET", "FOR", "USED", "", "LIMIT", "ACTION", "NOTE"}}
	for _, b := range budgets {
		t.Add(
			textfmt.Painted(b.Name, textfmt.Bold), textfmt.Cell{Text: cmp.Or(b.Who, "the city")}, textfmt.Painted(moreThan(b.Unknown != "")+amount(b.Measure, b.Used), budgetColor(b)),
			textfmt.Painted(meter(b), budgetColor(b)), textfmt.Cell{Text: limit(b)}, textfmt.Cell{Text: b.Act}, textfmt.Cell{Text: s.budgetNote(b)},
		)
	}
	return s.Table(t)
}

// limit returns the limit of a budget with its unit and, if the budget has a window, the window.
func limit(b client.Budget) string {
	words := amount(b.Measure, b.Limit)
	if b.Window > 0 {
		words += " in " + round(seconds(b.Window))
	}
	return words
}

// seconds converts a number of seconds to a duration.
func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// amount returns a used or allowed amount with the unit of the budget's measure.
func amount(measure string, v float64) string {
	switch measure {
	case "usd":
		return dollars(v, false)
	case "time":
		return textfmt.Span(seconds(v))
	case "tokens":
		return tokens(int64(v)) + " tokens"
	}
	return fmt.Sprintf("%.0f %s", v, textfmt.OneLine(measure))
}

// budgetColor returns the color of a budget: red if it is used up, yellow from 80% of its limit, green below that.
func budgetColor(b client.Budget) textfmt.Color {
	switch {
	case b.Over:
		return textfmt.Red
	case b.Limit > 0 && b.Used/b.Limit >= 0.8:
		return textfmt.Yellow
	}
	return textfmt.Green
}

// meterWidth is the width, in columns, of the bar of a budget.
const meterWidth = 12

// meter returns a bar of the used part of a budget.
func meter(b client.Budget) string {
	full := 0
	if b.Limit > 0 {
		full = int(min(1, b.Used/b.Limit) * meterWidth)
	}
	if b.Over {
		full = meterWidth
	}
	return strings.Repeat("█", full) + strings.Repeat("░", meterWidth-full)
}

// budgetNote returns the note of a budget: whether it is used up and when it ends, and why its used amount is not known
// exactly. It is empty if there is nothing to say.
func (s Formatter) budgetNote(b client.Budget) string {
	note := textfmt.ReplaceInternalTerms(b.Unknown)
	if !b.Over {
		return note
	}
	return textfmt.Join("used up"+s.again(b), note)
}

// again returns the end of a note about a used-up budget: when the budget is available again, and the command that resets
// it at once.
func (s Formatter) again(b client.Budget) string {
	lift := "gc usage lift " + textfmt.OneLine(b.Name)
	switch left := textfmt.In(s.Now, b.Until); {
	case left != "":
		return ", again in " + left + ", or now: " + lift
	case b.Until.IsZero() && b.Used < b.Limit:
		return "; allow a longer time, or: " + lift
	case b.Until.IsZero():
		return "; raise its limit, or: " + lift
	}
	return ""
}

// burn returns the current spending rate: tokens per minute, with unit after the number, and dollars
// per hour. It is empty if b is nil.
func burn(b *client.Burn, unit string) string {
	if b == nil {
		return ""
	}
	var parts []string
	if b.TokensPerMinute != nil {
		parts = append(parts, moreThan(b.Partial)+tokens(int64(*b.TokensPerMinute+0.5))+unit+"/min")
	}
	if b.USDPerHour != nil {
		parts = append(parts, dollars(*b.USDPerHour, b.Unpriced)+"/h")
	}
	if len(parts) == 0 {
		return notKnown
	}
	return strings.Join(parts, " ")
}

// moreThan returns the mark of a sum that lacks values; empty if it is complete.
func moreThan(partial bool) string {
	if partial {
		return atLeast
	}
	return ""
}
