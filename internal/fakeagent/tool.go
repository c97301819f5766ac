package fakeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/worker"
)

// tool is a tool that a prompt asks the agent to use.
type tool struct {
	name  string
	input map[string]string
	file  string // file that the tool creates; empty if none
}

// tool parses NAME|COMMAND of [[tool:...]] and the path of [[touch:...]].
func (d directive) tool() tool {
	if d.verb == "touch" {
		return tool{name: "Write", input: map[string]string{"file_path": d.arg, "content": ""}, file: d.arg}
	}
	name, command, _ := strings.Cut(d.arg, "|")
	return tool{name: name, input: map[string]string{"command": command}}
}

// decided uses the tool if that was allowed, and records the decision.
func (a *agent) decided(t tool, allowed bool, reason string) {
	choice := "denied"
	if allowed {
		choice = "allowed"
		if t.file != "" {
			if err := os.WriteFile(t.file, nil, 0o600); err != nil {
				reason = err.Error()
			}
		}
	}
	a.ledger.write(ledger.Record{Kind: ledger.Authorized, Dialog: t.name, Choice: choice, Reason: reason})
	a.display.print("  ⎿  " + printable(strings.TrimSpace(t.name+" "+choice+": "+reason)))
}

// use asks the city for permission in another goroutine, because a person may have to answer. The end of the turn cancels the
// request.
func (n *native) use(t tool) {
	n.count++
	id := fmt.Sprintf("call-%d", n.count)
	input, err := json.Marshal(t.input)
	if err != nil {
		panic(err) // cannot happen: strings can be encoded
	}
	ctx, cancel := context.WithCancel(n.ctx)
	n.stopAsking = cancel
	busy := n.callsDone // the report of this turn must be sent first
	turn := n.a.turn
	n.beside.Go(func() {
		defer cancel()
		<-busy
		began := time.Now()
		d, _ := n.c.Authorize(ctx, worker.Call{ID: id, Tool: t.name, Input: input}) // an error is a denial, with its reason
		n.do(func() {
			if n.a.turn != turn { // the turn has ended
				return
			}
			n.stopAsking = nil
			n.used = append(n.used, worker.ToolCall{Name: t.name, CallID: id, Success: d.Allowed, DurationMS: time.Since(began).Milliseconds()})
			n.a.decided(t, d.Allowed, d.Reason)
			n.a.advance()
		})
	})
}

// begun reports that the work on the first prompt has begun.
func (n *native) begun() {
	if len(n.prompts) == 0 {
		n.prompts = []string{""}
	}
	id := n.prompts[0]
	n.enqueueCall(func(ctx context.Context) error { return n.c.Report(ctx, worker.Busy, worker.Detail{PromptID: id}) })
	if id != "" {
		n.ack(worker.Ack{ID: id, State: worker.Submitted})
	}
}

// ended reports the token usage of the turn, then that the agent is idle, then the acknowledgements that waited for the end of
// the turn.
func (n *native) ended(reason string) {
	n.questionResolved()
	if n.stopAsking != nil {
		n.stopAsking()
		n.stopAsking = nil
	}
	if len(n.prompts) == 0 {
		return
	}
	id := n.prompts[0]
	n.prompts = n.prompts[1:]
	n.count++
	event := worker.TelemetryEvent{
		Type: worker.TurnComplete, Timestamp: time.Now(), MessageID: fmt.Sprintf("turn-%d-%d", os.Getpid(), n.count), ToolsCalled: n.used,
		Usage: &worker.Usage{InputTokens: new(int64(10)), OutputTokens: new(int64(5)), Model: Name, Source: "estimate"},
	}
	n.used = nil
	n.sendTelemetry(event)
	why := map[string]string{"end_turn": worker.TurnDone, "cancelled": worker.TurnInterrupted, "refusal": worker.TurnLimited}[reason]
	n.enqueueCall(func(ctx context.Context) error {
		return n.c.Report(ctx, worker.Idle, worker.Detail{PromptID: id, Reason: why})
	})
	for _, interrupt := range n.interrupts {
		n.ack(worker.Ack{ID: interrupt, State: worker.Consumed})
	}
	n.interrupts = nil
	if id != "" {
		n.ack(worker.Ack{ID: id, State: worker.Consumed})
	}
}

func option(i int) string { return fmt.Sprintf("o%d", i+1) }

// request asks a question with options.
func (n *native) request(m *menu) {
	q := worker.Interaction{Kind: m.kind, Text: m.name}
	if m.kind == "permission" {
		q.Text = strings.Join(m.text, "\n")
	}
	for i, name := range m.options {
		q.Options = append(q.Options, worker.Option{ID: option(i), Label: name})
	}
	n.raise(q)
}

func (n *native) wants(text string) {
	n.raise(worker.Interaction{Kind: "question", Text: text, FreeText: true})
}

func (n *native) raise(q worker.Interaction) {
	n.count++
	n.asked = fmt.Sprintf("question-%d", n.count)
	q.Event, q.ID = worker.Raised, n.asked
	n.interact(q)
}

// questionResolved reports that the open question needs no answer any more.
func (n *native) questionResolved() {
	if n.asked != "" {
		n.interact(worker.Interaction{Event: worker.Resolved, ID: n.asked})
		n.asked = ""
	}
}

func (n *native) interact(q worker.Interaction) {
	n.enqueueCall(func(ctx context.Context) error { _, err := n.c.Interaction(ctx, q); return err })
}
