package render

import (
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// The columns of an event: most names fit, longer ones push the rest.
const (
	eventTime = "2006-01-02 15:04:05.000"
	kindWidth = 24
	nameWidth = 16
)

// Event is one line about an event.
func (s Formatter) Event(e client.Event) string {
	who := textfmt.OneLine(textfmt.FirstOf(e.Agent, e.Session))
	row := s.Paint(textfmt.Faint, e.Time.Local().Format(eventTime)) + "  " + s.Pad(eventColor(e.Kind), textfmt.OneLine(e.Kind), kindWidth) + "  "
	if e.Text == "" {
		row += who
	} else {
		row += s.Pad(textfmt.Bold, who, nameWidth) + "  " + Reason(e.Text)
	}
	return strings.TrimRight(row, " ") + "\n"
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

// Plan is what would be done, empty if it is nothing.
func (s Formatter) Plan(plan client.Plan) string {
	t := &textfmt.Table{Heads: []string{"DO", "AGENT", "SESSION", "IN", "WHY"}}
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
