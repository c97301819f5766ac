package render

import (
	"cmp"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// The columns of an event. A longer name moves the columns after it to the right.
const (
	eventTime   = "2006-01-02 15:04:05.000"
	kindWidth   = 24
	nameWidth   = 16
	eventIndent = 10  // indentation of a text below its event
	wideEvents  = 120 // narrower terminals get a shorter time, and long texts below the event

	// In a terminal below narrowEvents columns, the columns for kind and name are smaller, so that most events fit on a line.
	narrowEvents = 100
	narrowKind   = 18
	narrowName   = 8
)

// Event returns one event as a line. In a narrow terminal the time is the time of the day, or the date for
// an event of another day, and a text that does not fit is on the next lines.
func (s Formatter) Event(e client.Event) string {
	who, kind := textfmt.OneLine(cmp.Or(e.Agent, e.Session)), textfmt.OneLine(e.Kind)
	if s.Columns > 0 && s.Columns < wideEvents {
		return s.narrowEvent(e, who, kind)
	}
	row := s.Paint(textfmt.Faint, e.Time.Local().Format(eventTime)) + "  " + s.Pad(eventColor(e.Kind), kind, kindWidth) + "  "
	if e.Text == "" {
		return strings.TrimRight(row+who, " ") + "\n"
	}
	return s.hanging(row+s.Pad(textfmt.Bold, who, nameWidth)+"  ", e.Text)
}

// narrowEvent returns an event for a terminal of limited width. The time has no date if the event is of today, and no
// time of day otherwise. A text that does not fit behind the columns goes on the lines below, indented.
func (s Formatter) narrowEvent(e client.Event, who, kind string) string {
	kinds, names := kindWidth, nameWidth
	if s.Columns < narrowEvents {
		kinds, names = narrowKind, narrowName
	}
	at := e.Time.Local()
	row := at.Format("15:04:05")
	if y, m, d := s.Now.Local().Date(); at.Year() != y || at.Month() != m || at.Day() != d {
		row = at.Format("01-02   ")
	}
	row = s.Paint(textfmt.Faint, row) + "  " + s.Pad(eventColor(e.Kind), kind, kinds) + "  " + s.Paint(textfmt.Bold, who)
	text := Reason(e.Text)
	used := eventIndent + max(kinds, textfmt.Width(kind)) + 2 + max(names, textfmt.Width(who)) + 2
	switch {
	case text == "":
		return strings.TrimRight(row, " ") + "\n"
	case used+textfmt.Width(text) <= s.Columns:
		return row + strings.Repeat(" ", max(0, names-textfmt.Width(who))) + "  " + text + "\n"
	}
	return strings.TrimRight(row, " ") + "\n" + s.lines(text, eventIndent)
}

// hanging returns a row with a text at its end. The text is wrapped inside its column.
func (s Formatter) hanging(row, text string) string {
	lines := textfmt.Hanging(row+Reason(text), s.Columns)
	return strings.TrimRight(strings.Join(lines, "\n"), " ") + "\n"
}

// eventColors maps kinds of events to colors.
var eventColors = map[string]textfmt.Color{
	"session.started": textfmt.Green, "session.adopted": textfmt.Green, "controller.recovered": textfmt.Green,
	"session.exited": textfmt.Red, "session.lost": textfmt.Red, "session.start_failed": textfmt.Red, "session.stop_failed": textfmt.Red,
	"session.quarantined": textfmt.Red, "controller.degraded": textfmt.Red, "controller.reload_failed": textfmt.Red,
}

// eventColor returns the color of a kind of event.
func eventColor(kind string) textfmt.Color { return cmp.Or(eventColors[kind], textfmt.Cyan) }

// Plan returns the table of planned actions; empty if there are none.
func (s Formatter) Plan(plan client.Plan) string {
	t := &textfmt.Table{Heads: []string{"ACTION", "AGENT", "SESSION", "IN", "REASON"}}
	for _, action := range plan.Actions {
		if action.Verb == "none" {
			continue
		}
		why := textfmt.Join(Reason(action.Reason), strings.Join(action.Fields, ", "))
		t.Add(textfmt.Painted(action.Verb, textfmt.Cyan), textfmt.Cell{Text: action.Agent}, textfmt.Cell{Text: action.Session}, textfmt.Cell{Text: textfmt.In(s.Now, action.After)}, textfmt.Cell{Text: why})
	}
	if len(t.Rows) == 0 {
		return ""
	}
	return s.Table(t)
}
