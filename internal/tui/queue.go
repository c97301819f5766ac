package tui

import (
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
)

// queue is the page of the prompts that are not delivered yet.
type queue struct {
	prompts  []client.Receipt // in the order of delivery
	problem  string           // why they cannot be read
	loaded   bool
	selected string // the id of a prompt
	top      int    // first visible row
	moving   bool   // the city has not reported yet what the last move did
}

// toggleQueue shows the queue, or closes it.
func (m *Model) toggleQueue(string) []Effect {
	m.toggle(inQueue)
	if m.mode() != inQueue {
		return nil
	}
	return []Effect{LoadQueue{}}
}

// showsQueue reports whether the queue is visible, also behind a dialog or the help.
func (m *Model) showsQueue() bool { return slices.Contains(m.modes, inQueue) }

// setQueue replaces the prompts. The selection stays at its prompt, or at its place.
func (m *Model) setQueue(msg QueueMsg) {
	q := &m.queue
	q.moving = false
	if msg.Err != nil {
		q.problem = msg.Err.Error()
		return
	}
	at := q.position()
	q.prompts, q.loaded, q.problem = msg.Prompts, true, ""
	if q.find() == nil {
		q.selectAt(at)
	}
}

// position returns the row of the selected prompt; 0 if there is none.
func (q *queue) position() int {
	return max(0, slices.IndexFunc(q.prompts, func(r client.Receipt) bool { return r.ID == q.selected }))
}

// find returns the selected prompt, or nil.
func (q *queue) find() *client.Receipt {
	return find(q.prompts, func(r *client.Receipt) bool { return r.ID == q.selected })
}

// selectAt selects the prompt in a row, or the nearest one.
func (q *queue) selectAt(row int) {
	q.selected = ""
	if n := len(q.prompts); n > 0 {
		q.selected = q.prompts[max(0, min(row, n-1))].ID
	}
}

// scroll moves the first visible row so that the selected prompt is visible.
func (q *queue) scroll(height int) {
	at := q.position()
	q.top = max(0, min(q.top, at, len(q.prompts)-height), at-height+1)
}

// isWaiting reports whether the delivery of a prompt has not begun.
func isWaiting(r *client.Receipt) bool {
	return r != nil && (r.State == client.ReceiptAccepted || r.State == client.ReceiptQueued)
}

func canEdit(m *Model) bool   { return m.showsQueue() && isWaiting(m.queue.find()) }
func canCancel(m *Model) bool { return m.showsQueue() && m.queue.find() != nil }

// canMove returns whether the selected prompt can be moved by a step, and to where.
func canMove(step int) func(*Model) bool {
	return func(m *Model) bool { return canEdit(m) && m.queue.neighbor(step) != nil }
}

// neighbor returns the next waiting prompt of the same agent and priority before or behind the selected one, or nil.
func (q *queue) neighbor(step int) *client.Receipt {
	r := q.find()
	for i := q.position() + step; r != nil && i >= 0 && i < len(q.prompts); i += step {
		if other := &q.prompts[i]; other.Session == r.Session && other.Priority == r.Priority && isWaiting(other) {
			return other
		}
	}
	return nil
}

// moveBy returns the action that moves the selected prompt one place forward or back. Until the city reports the result, it does nothing: the next
// move depends on it.
func moveBy(step int) func(*Model, string) []Effect {
	return func(m *Model, _ string) []Effect {
		q := &m.queue
		if q.moving {
			return nil
		}
		q.moving = true
		r, other := q.find(), q.neighbor(step)
		effect := MovePrompt{ID: r.ID, Request: client.MoveRequest{Before: other.ID}}
		if step > 0 {
			effect.Request = client.MoveRequest{Last: true}
			behind := *q
			behind.selected = other.ID
			if next := behind.neighbor(1); next != nil {
				effect.Request = client.MoveRequest{Before: next.ID}
			}
		}
		return []Effect{effect}
	}
}

// openEdit asks for the whole text of the selected prompt, to edit it.
func (m *Model) openEdit(string) []Effect { return []Effect{LoadText{m.queue.selected}} }

// addText opens the editor on the text of a prompt.
func (m *Model) addText(msg TextMsg) {
	r := m.queue.find()
	if m.mode() != inQueue || r == nil || r.ID != msg.ID {
		return
	}
	m.start(inEdit, dialog{prompt: *r, before: msg.Text})
	m.input.set(msg.Text)
}

// saveText saves the edited text of a prompt.
func (m *Model) saveText(text string) []Effect {
	d := m.dialog
	if err := client.CheckPrompt(text); err != nil || strings.TrimSpace(text) == "" {
		m.notice = notice{"the text is empty or too long; to remove the prompt press Esc, then c", true}
		return nil
	}
	m.back()
	if text == d.before {
		m.notice = notice{text: "the prompt is unchanged"}
		return nil
	}
	return []Effect{EditPrompt{ID: d.prompt.ID, Agent: d.prompt.Agent, Text: text}}
}

// confirmCancel asks whether to cancel the selected prompt.
func (m *Model) confirmCancel(string) []Effect {
	return m.start(inConfirm, dialog{verb: cancelPrompt, prompt: *m.queue.find()})
}

// drawQueue draws the prompts, one in a row.
func (m *Model) drawQueue(all area) {
	q := &m.queue
	a := layoutOf(m).body.of(all)
	heading := "Queue: " + textfmt.Count(len(q.prompts), "prompt")
	switch {
	case q.problem != "":
		heading = "Queue: " + q.problem
	case !q.loaded:
		heading = "Queue …"
	case len(q.prompts) == 0:
		a.text(3, 0, "No prompt waits.", faint)
	}
	all.heading(heading, q.top, a.h, len(q.prompts))
	name := 8
	for i := range q.prompts {
		name = max(name, min(textWidth(q.prompts[i].Agent), a.w/4))
	}
	for y, r := range window(q.prompts, q.top, a.h) {
		m.drawPrompt(a.part(0, y, a.w, 1), &r, name)
	}
}

// drawPrompt draws a row of the queue: agent, place, state, priority, age, text.
func (m *Model) drawPrompt(a area, r *client.Receipt, name int) {
	a.fit(1, 0, name, r.Agent, bold)
	x := name + 2
	if r.Position > 0 {
		a.rightText(x+2, 0, fmt.Sprint(r.Position), faint)
	}
	word, s := deliveryOf(r.State)
	a.fit(x+3, 0, 9, word, s)
	if r.Priority != client.PriorityNormal {
		a.fit(x+13, 0, 6, r.Priority, style{fg: vt.Yellow})
	}
	a.rightText(x+24, 0, age(m.now, r.CreatedAt), faint)
	a.fit(x+26, 0, a.w-x-27, strings.Join(strings.Fields(r.Text), " "), plain)
	if r.ID == m.queue.selected {
		a.highlight()
	}
	m.zone(a, zone{prompt: r.ID})
}

// queueDetail returns what the row of the selected prompt does not show.
func (m *Model) queueDetail() string {
	r := m.queue.find()
	if r == nil {
		return ""
	}
	parts := []string{r.ID}
	if r.Source != "" {
		parts = append(parts, "from "+r.Source)
	}
	if r.Reason != "" {
		parts = append(parts, textfmt.Brief(textfmt.ReplaceInternalTerms(r.Reason)))
	}
	return strings.Join(parts, " · ")
}
