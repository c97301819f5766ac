package questions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
	"gascity/internal/textfmt"
)

// maxHeadline is the largest size of a text in an event, in bytes.
const maxHeadline = 1000

// headline returns a short line for people that describes the question.
func headline(p session.Pending) string {
	if p.Tool != "" {
		return textfmt.Truncate(strings.TrimSpace(p.Tool+" "+strings.Join(strings.Fields(p.Input), " ")), 200)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(p.Prompt), "\n")
	return textfmt.Truncate(cmp.Or(line, "a "+p.Kind), 200)
}

// raised returns the data of the event that an agent asks a question (pending.raised).
func raised(p session.Pending) map[string]string {
	data := map[string]string{
		"id": p.ID, "kind": p.Kind, "instance": p.Instance, "prompt": textfmt.Truncate(p.Prompt, maxHeadline), "policy": p.Policy,
	}
	if p.Tool != "" {
		data["tool"] = textfmt.Truncate(p.Tool, maxHeadline)
	}
	if options, err := json.Marshal(p.Options); err == nil && len(p.Options) > 0 {
		data["options"] = string(options)
	}
	if !p.Deadline.IsZero() {
		data["deadline"] = p.Deadline.Format(time.RFC3339)
	}
	return data
}

// emitEnd emits the event that a question has ended, by an answer or otherwise.
func (d *Service) emitEnd(ctx context.Context, p session.Pending) {
	data := map[string]string{"id": p.ID, "kind": p.Kind}
	answered := func() {
		data["answer"], data["by"] = p.Answer, p.AnsweredBy
	}
	switch p.State {
	case client.PendingAnswered:
		answered()
		d.emit(ctx, event.PendingAnswered, p, fmt.Sprintf("%s answered %s: %s", p.AnsweredBy, p.Agent, p.Answer), data)
	case client.PendingExpired:
		answered()
		d.emit(ctx, event.PendingExpired, p, fmt.Sprintf("the question of %s was not answered in time, so the policy decided: %s", p.Agent, p.Answer), data)
	case client.PendingGone:
		data["instance"] = p.Instance
		d.emit(ctx, event.PendingGone, p, p.Agent+" stopped before its question was answered", data)
	default:
		d.emit(ctx, event.PendingResolved, p, "the question of "+p.Agent+" was settled without the city", data)
	}
}

// emit appends an event about a question.
func (d *Service) emit(ctx context.Context, kind event.Kind, p session.Pending, text string, data map[string]string) {
	d.append(ctx, client.Event{Kind: string(kind), Agent: p.Agent, Session: p.Session, Text: text, Data: data})
}

// append appends an event to the event log and logs it.
func (d *Service) append(ctx context.Context, e client.Event) {
	engine.Record(ctx, d.opts.Events, d.opts.Logger, e)
	d.opts.Logger.Info(e.Text, "kind", e.Kind, "agent", e.Agent, "session", e.Session, "pending", e.Data["id"])
}
