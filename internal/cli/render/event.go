package render

import (
	"strings"

	"gascity/client"
	"gascity/internal/text"
)

// The columns of an event: most names fit, longer ones push the rest.
const (
	eventTime = "2006-01-02 15:04:05.000"
	kindWidth = 24
	nameWidth = 16
)

// Event is one line about an event.
func (s Sheet) Event(e client.Event) string {
	who := text.OneLine(text.FirstOf(e.Agent, e.Session))
	row := s.Paint(text.Faint, e.Time.Local().Format(eventTime)) + "  " + s.Pad(eventColor(e.Kind), text.OneLine(e.Kind), kindWidth) + "  "
	if e.Text == "" {
		row += who
	} else {
		row += s.Pad(text.Bold, who, nameWidth) + "  " + Reason(e.Text)
	}
	return strings.TrimRight(row, " ") + "\n"
}

func eventColor(kind string) text.Color {
	switch kind {
	case "session.started", "session.adopted", "controller.recovered":
		return text.Green
	case "session.exited", "session.lost", "session.start_failed", "session.stop_failed", "session.quarantined",
		"controller.degraded", "controller.reload_failed":
		return text.Red
	}
	return text.Cyan
}

// Plan is what would be done, empty if it is nothing.
func (s Sheet) Plan(plan client.Plan) string {
	t := &text.Table{Heads: []string{"DO", "AGENT", "SESSION", "IN", "WHY"}}
	for _, action := range plan.Actions {
		if action.Verb == "none" {
			continue
		}
		why := text.Join(Reason(action.Reason), strings.Join(action.Fields, ", "))
		t.Add(text.Painted(action.Verb, text.Cyan), text.Cell{Text: action.Agent}, text.Cell{Text: action.Session}, text.Cell{Text: text.In(s.Now, action.After)}, text.Cell{Text: why})
	}
	if len(t.Rows) == 0 {
		return ""
	}
	return s.Table(t)
}
