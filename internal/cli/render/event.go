package render

import (
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// The columns of an event: most names fit, longer ones push the rest.
const (
	eventTime   = "2006-01-02 15:04:05.000"
	kindWidth   = 24
	nameWidth   = 16
	eventIndent = 10 // of a text that stands below its event
	wideEvents  = 120
)

// Event returns one line about an event. In a narrow terminal it has the time of the day, or the day alone
// if that is another one, and a long text stands below.
func (s Formatter) Event(e client.Event) string {
	who, kind := textfmt.OneLine(textfmt.FirstOf(e.Agent, e.Session)), textfmt.OneLine(e.Kind)
	if s.Columns > 0 && s.Columns < wideEvents {
		return s.narrowEvent(e, who, kind)
	}
	row := s.Paint(textfmt.Faint, e.Time.Local().Format(eventTime)) + "  " + s.Pad(eventColor(e.Kind), kind, kindWidth) + "  "
	if e.Text == "" {
		return strings.TrimRight(row+who, " ") + "\n"
	}
	return s.hanging(row+s.Pad(textfmt.Bold, who, nameWidth)+"  ", e.Text)
}

func (s Formatter) narrowEvent(e client.Event, who, kind string) string {
	at := e.Time.Local()
	row := at.Format("15:04:05")
	if y, m, d := s.Now.Local().Date(); at.Year() != y || at.Month() != m || at.Day() != d {
		row = at.Format("01-02   ")
	}
	row = s.Paint(textfmt.Faint, row) + "  " + s.Paint(eventColor(e.Kind), kind) + strings.Repeat(" ", max(0, kindWidth-textfmt.Width(kind))) + "  " + s.Paint(textfmt.Bold, who)
	text := Reason(e.Text)
	used := eventIndent + max(kindWidth, textfmt.Width(kind)) + 2 + max(nameWidth, textfmt.Width(who)) + 2
	switch {
	case text == "":
		return strings.TrimRight(row, " ") + "\n"
	case used+textfmt.Width(text) <= s.Columns:
		return row + strings.Repeat(" ", max(0, nameWidth-textfmt.Width(who))) + "  " + text + "\n"
	}
	return strings.TrimRight(row, " ") + "\n" + s.lines(text, eventIndent)
}

// hanging returns a row whose last text is wrapped within its column.
func (s Formatter) hanging(row, text string) string {
	text = Reason(text)
	if s.Columns > 0 {
		text = strings.Join(textfmt.Hanging(row+text, s.Columns), "\n")
		return strings.TrimRight(text, " ") + "\n"
	}
	return strings.TrimRight(row+text, " ") + "\n"
}

func eventColor(kind string) textfmt.Color {
	switch kind {
	case "session.started", "session.adopted", "controller.recovered":
		return textfmt.Green
	case "session.exited", "session.lost", "session.start_failed", "session.stop_failed", "session.quarantined",
		"controller.degraded", "controller.reload_failed":
		return textfmt.Red
	}
	return textfmt.Cyan
}

// Plan returns what would be done, empty if it is nothing.
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
