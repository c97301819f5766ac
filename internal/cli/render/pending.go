package render

import (
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/text"
)

// Pending shows questions, each with its exact text and how to answer it.
func (s Sheet) Pending(list []client.Pending) string {
	var out strings.Builder
	for i, p := range list {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(s.question(p))
	}
	return out.String()
}

func (s Sheet) question(p client.Pending) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s  %s  %s\n", s.Paint(text.Bold, text.OneLine(p.ID)), s.Paint(text.Cyan, text.OneLine(p.Agent)), s.Paint(text.Yellow, text.OneLine(p.Kind)),
		s.Paint(text.Faint, text.Ago(s.Now, p.Since)+", from "+text.OneLine(text.FirstOf(p.Source, "an unknown source"))))
	if p.Tool != "" || p.Input != "" {
		fmt.Fprintln(&out, text.Indent(strings.TrimPrefix(p.Tool+": "+p.Input, ": "), indent))
	}
	if p.Prompt != "" {
		fmt.Fprintln(&out, text.Indent(p.Prompt, indent))
	}
	for n, option := range p.Options {
		fmt.Fprintf(&out, "    %s  %s\n", s.Paint(text.Bold, fmt.Sprint(n+1)), text.OneLine(option))
	}
	fmt.Fprintln(&out, text.Indent(s.fate(p), indent))
	return out.String()
}

// openQuestion is a question in short, for the status: what is asked, the options and the command
// that answers it.
func (s Sheet) openQuestion(p client.Pending) string {
	var out strings.Builder
	asked := FirstLine(text.FirstOf(p.Prompt, p.Tool))
	if p.Input != "" {
		asked = text.Join(strings.TrimPrefix(p.Tool+": "+FirstLine(p.Input), ": "), FirstLine(p.Prompt))
	}
	fmt.Fprintf(&out, "  %s  %s  %s\n", s.Paint(text.Bold, text.OneLine(p.Agent)), text.OneLine(text.Bound(asked, questionWidth)), s.Paint(text.Faint, text.Ago(s.Now, p.Since)))
	var options []string
	for n, option := range p.Options {
		options = append(options, fmt.Sprintf("%s %s", s.Paint(text.Bold, fmt.Sprint(n+1)), text.OneLine(option)))
	}
	if len(options) > 0 {
		fmt.Fprintln(&out, "    "+strings.Join(options, "   "))
	}
	fmt.Fprintln(&out, "    answer with: "+HowToAnswer(p))
	return out.String()
}

// questionWidth is how much of a question the status shows.
const questionWidth = 160

// fate says how a question ended, or what happens without an answer.
func (s Sheet) fate(p client.Pending) string {
	if p.State != client.PendingOpen {
		said := p.State
		if p.Answer != "" {
			said += fmt.Sprintf(" with %q", p.Answer)
		}
		if p.AnsweredBy != "" {
			said += " by " + p.AnsweredBy
		}
		if p.State == client.PendingResolved && !p.Until.IsZero() && !p.EndedAt.Before(p.Until) {
			said = "the agent stopped waiting: no answer arrived in time"
		}
		return said + ", " + text.Ago(s.Now, p.EndedAt)
	}
	return text.Join("answer with: "+HowToAnswer(p), Reason(p.Why), s.policy(p))
}

// HowToAnswer returns a command that answers an open question: one that the question accepts.
func HowToAnswer(p client.Pending) string {
	if i := slices.Index(p.Options, p.Suggested); p.Suggested != "" && i >= 0 {
		return fmt.Sprintf("gc respond %s %d", p.ID, i+1)
	}
	switch n := len(p.Options); {
	case n == 1:
		return "gc respond " + p.ID + " 1"
	case n > 1:
		return fmt.Sprintf("gc respond %s N  (N is 1 to %d)", p.ID, n)
	case p.NoText:
		return "gc attach " + p.Agent
	default:
		return "gc respond " + p.ID + " --text WORDS"
	}
}

// policy says what happens first unless somebody answers. What was reported again is
// not reported once more.
func (s Sheet) policy(p client.Pending) string {
	if !p.Until.IsZero() && (p.Deadline.IsZero() || p.Until.Before(p.Deadline)) {
		return "the agent stops waiting in " + text.FirstOf(text.In(s.Now, p.Until), "a moment")
	}
	if !p.Escalated.IsZero() {
		return "reported again " + text.Ago(s.Now, p.Escalated) + "; it waits on"
	}
	left := text.In(s.Now, p.Deadline)
	if p.Deadline.IsZero() || p.Policy == "wait" || p.Policy == "" {
		return ""
	}
	what := map[string]string{"deny": "it is denied", "answer": fmt.Sprintf("it is answered with %q", p.Default), "escalate": "it is reported again"}[p.Policy]
	return text.FirstOf(what, p.Policy) + " in " + text.FirstOf(left, "a moment")
}

// Waits lists registered waits.
func (s Sheet) Waits(list []client.Wait) string {
	t := &text.Table{Heads: []string{"ID", "OWNER", "WAITS UNTIL", "STATE", "AGE", "ENDS IN", "NOTE"}}
	for _, w := range list {
		t.Add(text.Painted(w.ID, text.Bold), text.Cell{Text: w.Owner}, text.Cell{Text: Condition(w)}, text.Painted(w.State, waitColor(w.State)),
			text.Cell{Text: text.Span(s.Now.Sub(w.CreatedAt))}, text.Cell{Text: text.In(s.Now, w.Deadline)}, text.Cell{Text: text.Join(Reason(w.Reason), w.Receipt)})
	}
	return s.Table(t)
}

func waitColor(state string) text.Color {
	switch state {
	case client.WaitFulfilled:
		return text.Green
	case client.WaitFailed, client.WaitExpired:
		return text.Red
	case client.WaitOpen:
		return text.Yellow
	}
	return text.Faint
}

// Condition says in words what is waited for, as what follows "when".
func Condition(w client.Wait) string {
	switch w.For {
	case client.WaitReceipt:
		return "the prompt " + w.Arg + " has ended"
	case client.WaitPending:
		return "the question " + w.Arg + " has ended"
	case client.WaitTime:
		return "the time " + w.Arg + " has come"
	case client.WaitCommand:
		return "this succeeds: " + FirstLine(w.Arg)
	}
	return w.Target + " is " + w.For
}
