package render

import (
	"cmp"
	"strconv"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Notifications returns the table of the sinks and that of the recent notifications.
func (s Formatter) Notifications(list client.Notifications) string {
	sinks := &textfmt.Table{Heads: []string{"SINK", "TYPE", "WAITING", "NOTE"}}
	for _, sink := range list.Sinks {
		waiting, note := "", "ok"
		if sink.Waiting > 0 {
			waiting = strconv.Itoa(sink.Waiting)
		}
		if sink.AnswerError != "" {
			note = textfmt.Brief(sink.AnswerError)
		}
		if sink.Error != "" {
			note = textfmt.Brief(sink.Error)
			if sink.Retry.After(s.Now) {
				note = "next try " + textfmt.In(s.Now, sink.Retry) + ": " + note
			}
		}
		sinks.Add(textfmt.Cell{Text: sink.Name}, textfmt.Cell{Text: sink.Type}, textfmt.Cell{Text: waiting}, textfmt.Cell{Text: note})
	}
	out := sinks.Render(s.Painter, s.Columns)
	if len(list.Notifications) == 0 {
		return out
	}
	rows := &textfmt.Table{Heads: []string{"WHEN", "SINK", "STATE", "KIND", "AGENT", "TRIES", "ID", "NOTE"}}
	for _, n := range list.Notifications {
		note := cmp.Or(n.Error, n.Text)
		rows.Add(textfmt.Cell{Text: textfmt.Ago(s.Now, n.Created)}, textfmt.Cell{Text: n.Sink}, textfmt.Cell{Text: n.State}, textfmt.Cell{Text: n.Kind},
			textfmt.Cell{Text: n.Agent}, textfmt.Cell{Text: strconv.Itoa(n.Tries)}, textfmt.Cell{Text: n.ID}, textfmt.Cell{Text: textfmt.Brief(note)})
	}
	return out + "\n" + rows.Render(s.Painter, s.Columns)
}

// NotifyResults returns the table of the results of test messages.
func (s Formatter) NotifyResults(results []client.NotifyResult) string {
	t := &textfmt.Table{Heads: []string{"SINK", "TYPE", "RESULT", "TIME"}}
	for _, r := range results {
		took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
		t.Add(textfmt.Cell{Text: r.Sink}, textfmt.Cell{Text: r.Type}, textfmt.Cell{Text: cmp.Or(textfmt.Brief(r.Error), "sent")}, textfmt.Cell{Text: took.String()})
	}
	return t.Render(s.Painter, s.Columns)
}
