package render

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Notifications returns the table of the sinks and that of the recent notifications.
func (s Formatter) Notifications(list client.Notifications) string {
	sinks := &textfmt.Table{Heads: []string{"SINK", "TYPE", "WAITING", "NOTE"}}
	for _, sink := range list.Sinks {
		waiting, note := "", "ok"
		switch {
		case sink.Type != client.NotifyTypeWebPush:
		case sink.Devices == 0:
			note = "no device yet: open the web console on it (gc web), then the page City, and press Notify this device"
		default:
			note = "ok, " + textfmt.Count(sink.Devices, "device")
		}
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
	out := s.Table(sinks)
	if len(list.Notifications) == 0 {
		return out
	}
	rows := &textfmt.Table{Heads: []string{"WHEN", "SINK", "STATE", "KIND", "AGENT", "NOTE"}}
	for _, n := range list.Notifications {
		rows.Add(textfmt.Cell{Text: textfmt.Ago(s.Now, n.Created)}, textfmt.Cell{Text: n.Sink}, textfmt.Painted(n.State, notifyColor(n)), textfmt.Cell{Text: n.Kind},
			textfmt.Cell{Text: n.Agent}, textfmt.Cell{})
	}
	room := 0
	if s.Columns > 0 {
		room = max(rows.Room(s.Columns), leastRoom)
	}
	for i, n := range list.Notifications {
		rows.Rows[i][len(rows.Heads)-1] = textfmt.Cell{Text: textfmt.OneLine(notifyNote(n, room))}
	}
	return out + "\n" + s.Table(rows)
}

// leastRoom is the smallest width of a note. In less room it is wrapped.
const leastRoom = 20

// notifyColor returns the color of the state of a notification: what failed stands out, what needs nothing is faint.
func notifyColor(n client.Notification) textfmt.Color {
	switch {
	case n.State == client.NotifyFailed:
		return textfmt.Red
	case n.State == client.NotifySending && n.Error != "":
		return textfmt.Yellow
	case n.State == client.NotifyDropped:
		return textfmt.Faint
	}
	return textfmt.Plain
}

// notifyNote returns why a notification failed and how it is sent again, and of one that needs nothing as much of its text as fits into
// one line.
func notifyNote(n client.Notification, room int) string {
	why := textfmt.Brief(n.Error)
	if n.Tries > 1 {
		why = fmt.Sprintf("%d tries: %s", n.Tries, why)
	}
	switch {
	case n.State == client.NotifyFailed:
		return why + "; gc notify retry " + n.ID
	case n.State == client.NotifySending && n.Error != "":
		return why
	}
	note := textfmt.OneLine(cmp.Or(n.Error, strings.TrimPrefix(n.Text, n.Agent+" asks: ")))
	if room == 0 {
		return textfmt.Brief(note)
	}
	return textfmt.Cut(note, room)
}

// NotifyResults returns the table of the results of test messages.
func (s Formatter) NotifyResults(results []client.NotifyResult) string {
	t := &textfmt.Table{Heads: []string{"SINK", "TYPE", "DEVICE", "RESULT", "TIME"}}
	for _, r := range results {
		took := seconds(r.Seconds).Round(time.Millisecond)
		t.Add(textfmt.Cell{Text: r.Sink}, textfmt.Cell{Text: r.Type}, textfmt.Cell{Text: r.Device}, textfmt.Cell{Text: cmp.Or(textfmt.Brief(r.Error), "sent")}, textfmt.Cell{Text: took.String()})
	}
	return s.Table(t)
}
