package tui

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// task is an effect that takes time. It runs in a goroutine and puts its result into the inbox.
type task interface {
	carryOut(ctx context.Context, r *runner)
}

// carryOut answers equal questions, and reports the results in one line.
func (e Answer) carryOut(ctx context.Context, r *runner) {
	var failed []error
	for i, id := range e.IDs {
		_, err := r.opts.City.Respond(ctx, id, client.RespondRequest{Option: e.Option, Text: e.Text, By: r.opts.By})
		if err == nil || errors.Is(err, client.ErrRefused) || errors.Is(err, client.ErrNotFound) {
			r.inbox.put(AnsweredMsg{id})
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", e.Agents[i], err))
		}
	}
	r.report("answered "+textfmt.List(e.Agents)+": "+cmp.Or(e.Option, e.Text), failed...)
}

// report shows the result of an action: its errors, or done if all are nil.
func (r *runner) report(done string, failed ...error) {
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) == 0 {
		r.inbox.put(NoticeMsg{Text: done})
		return
	}
	r.inbox.put(NoticeMsg{Text: problemOf(failed), Failed: true})
}

// problemOf returns the errors of an action in one line: their number, and the first one.
func problemOf(failed []error) string {
	text := failed[0].Error()
	if len(failed) > 1 {
		text = fmt.Sprintf("%d failed: %s", len(failed), text)
	}
	return text
}

// carryOut sends a prompt to agents. Each has a key, so that no prompt is sent twice. If that fails, the editor opens again, so that the text is
// not lost. The same text is then sent with the same keys, because the city may have stored it all the same.
func (e Prompt) carryOut(ctx context.Context, r *runner) {
	var failed []error
	unsent := UnsentMsg{Text: e.Text, Keys: map[string]string{}}
	var receipt client.Receipt
	for _, name := range e.Agents {
		key := cmp.Or(e.Keys[name], "top-"+rand.Text())
		var err error
		receipt, err = r.opts.City.Nudge(ctx, name, client.NudgeRequest{Text: e.Text, Key: key, Source: r.opts.By})
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			unsent.Agents, unsent.Keys[name] = append(unsent.Agents, name), key
			continue
		}
		r.inbox.put(PromptsMsg{[]client.Receipt{receipt}})
	}
	if len(failed) > 0 {
		unsent.Problem = problemOf(failed)
		r.inbox.put(unsent)
		return
	}
	done := "prompt stored for " + textfmt.List(e.Agents)
	if len(e.Agents) == 1 {
		done += " (" + receipt.ID + ")"
	}
	r.report(done)
}

// carryOut reads the text of a waiting prompt.
func (e LoadText) carryOut(ctx context.Context, r *runner) {
	prompt, err := r.opts.City.PromptText(ctx, e.ID)
	if err != nil {
		r.report("", err)
		return
	}
	r.inbox.put(TextMsg{ID: e.ID, Text: prompt.Text, Before: prompt.Text})
}

// carryOut changes the text of a waiting prompt. If that fails, the editor opens again, so that the text is not lost.
func (e EditPrompt) carryOut(ctx context.Context, r *runner) {
	_, err := r.opts.City.EditPrompt(ctx, e.ID, client.EditRequest{Text: &e.Text, By: r.opts.By})
	if err != nil {
		r.inbox.put(TextMsg{ID: e.ID, Text: e.Text})
	}
	r.report("changed the prompt for "+e.Agent, err)
	r.loadQueue(ctx)
}

// carryOut moves a waiting prompt.
func (e MovePrompt) carryOut(ctx context.Context, r *runner) {
	e.Request.By = r.opts.By
	if _, err := r.opts.City.MovePrompt(ctx, e.ID, e.Request); err != nil {
		r.report("", err)
	}
	r.loadQueue(ctx)
}

// carryOut cancels a prompt that is not delivered yet.
func (e CancelPrompt) carryOut(ctx context.Context, r *runner) {
	receipt, err := r.opts.City.CancelPrompt(ctx, e.ID)
	if err == nil && receipt.State != client.ReceiptCancelled {
		word, _ := deliveryOf(receipt.State)
		err = fmt.Errorf("the prompt for %s was not cancelled: it is %s", e.Agent, word)
	}
	r.report("cancelled the prompt for "+e.Agent, err)
	r.loadQueue(ctx)
}

// carryOut changes agents. It acts on the instance that the person saw.
func (e Act) carryOut(ctx context.Context, r *runner) {
	var failed []error
	var results []string
	for _, a := range e.Agents {
		result, err := r.change(ctx, e.Verb, a)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", a.Name, err))
		}
		results = append(results, cmp.Or(result, a.Name+": done"))
	}
	r.report(strings.Join(results[:min(3, len(results))], "; "), failed...)
}

func (r *runner) change(ctx context.Context, verb Verb, a client.Agent) (string, error) {
	var done client.Done
	var err error
	result := ""
	switch {
	case verb == Interrupt:
		result = a.Name + ": interrupted"
		done, err = r.opts.City.Interrupt(ctx, a.Name, client.LifecycleRequest{Instance: a.Instance, InTurn: true})
	case verb == Stop:
		result = a.Name + ": stopped"
		done, err = r.opts.City.Suspend(ctx, a.Name, client.LifecycleRequest{Instance: a.Instance, Reason: "stopped in gc top"})
	case a.State == client.StateRunning && a.Instance != "":
		result = a.Name + ": restarted"
		done, err = r.opts.City.RestartInstance(ctx, a.Name, a.Instance)
	default:
		result = a.Name + ": " + cmp.Or(map[string]string{client.StateDraining: "resumed", client.StateStarting: "already starting"}[a.State], "started")
		done, err = r.opts.Start(ctx, a)
	}
	if err == nil && !done.Changed && done.Detail != "" {
		result = a.Name + ": " + done.Detail
	}
	return result, err
}
