package render

import (
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Pending shows questions, each with its exact text and how to answer it.
func (s Formatter) Pending(list []client.Pending) string {
	var out strings.Builder
	for i, p := range list {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(s.question(p))
	}
	return out.String()
}

func (s Formatter) question(p client.Pending) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s  %s  %s\n", s.Paint(textfmt.Bold, textfmt.OneLine(p.ID)), s.Paint(textfmt.Cyan, textfmt.OneLine(p.Agent)), s.Paint(textfmt.Yellow, strings.ReplaceAll(textfmt.OneLine(p.Kind), "_", " ")),
		s.Paint(textfmt.Faint, textfmt.Ago(s.Now, p.Since)+", from "+textfmt.OneLine(textfmt.FirstOf(p.Source, "an unknown source"))))
	if p.Tool != "" || p.Input != "" {
		out.WriteString(s.lines(strings.TrimPrefix(p.Tool+": "+p.Input, ": "), indent))
	}
	if p.Prompt != "" {
		out.WriteString(s.lines(p.Prompt, indent))
	}
	for n, option := range p.Options {
		fmt.Fprintf(&out, "    %s  %s\n", s.Paint(textfmt.Bold, fmt.Sprint(n+1)), textfmt.OneLine(option))
	}
	out.WriteString(s.lines(s.outcome(p), indent))
	return out.String()
}

// openQuestion returns a question in short, for the status: what is asked, the options and the command
// that answers it.
func (s Formatter) openQuestion(p client.Pending) string {
	var out strings.Builder
	asked := allLines(textfmt.FirstOf(p.Prompt, p.Tool))
	if p.Input != "" {
		asked = textfmt.Join(strings.TrimPrefix(p.Tool+": "+FirstLine(p.Input), ": "), allLines(p.Prompt))
	}
	out.WriteString(s.wrap(fmt.Sprintf("  %s  %s  %s", s.Paint(textfmt.Bold, textfmt.OneLine(p.Agent)), textfmt.OneLine(textfmt.Bound(asked, questionWidth)), s.Paint(textfmt.Faint, textfmt.Ago(s.Now, p.Since)))))
	var options []string
	for n, option := range p.Options {
		options = append(options, fmt.Sprintf("%s %s", s.Paint(textfmt.Bold, fmt.Sprint(n+1)), textfmt.OneLine(option)))
	}
	if len(options) > 0 {
		out.WriteString(s.wrap("    " + strings.Join(options, "   ")))
	}
	fmt.Fprintln(&out, "    answer with: "+HowToAnswer(p))
	return out.String()
}

// allLines joins the lines of a text that are not empty.
func allLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return textfmt.Join(lines...)
}

// questionWidth is how much of a question the status shows.
const questionWidth = 160

// outcome returns how a question ended, or what happens without an answer.
func (s Formatter) outcome(p client.Pending) string {
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
		return said + ", " + textfmt.Ago(s.Now, p.EndedAt)
	}
	return textfmt.Join("answer with: "+HowToAnswer(p), Reason(p.Why), s.policy(p))
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

// policy returns what happens first unless somebody answers. What was reported again is
// not reported once more.
func (s Formatter) policy(p client.Pending) string {
	if !p.Until.IsZero() && (p.Deadline.IsZero() || p.Until.Before(p.Deadline)) {
		return "the agent stops waiting in " + textfmt.FirstOf(textfmt.In(s.Now, p.Until), "a moment")
	}
	if !p.Escalated.IsZero() {
		return "reminder sent " + textfmt.Ago(s.Now, p.Escalated)
	}
	left := textfmt.In(s.Now, p.Deadline)
	if p.Deadline.IsZero() || p.Policy == "wait" || p.Policy == "" {
		return ""
	}
	what := map[string]string{"deny": "it is denied", "answer": fmt.Sprintf("it is answered with %q", p.Default), "escalate": "reminder"}[p.Policy]
	return textfmt.FirstOf(what, p.Policy) + " in " + textfmt.FirstOf(left, "a moment")
}

// Waits lists registered waits.
func (s Formatter) Waits(list []client.Wait) string {
	t := &textfmt.Table{Heads: []string{"ID", "OWNER", "CONDITION", "STATE", "AGE", "EXPIRES IN", "NOTE"}}
	for _, w := range list {
		t.Add(textfmt.Painted(w.ID, textfmt.Bold), textfmt.Cell{Text: w.Owner}, textfmt.Cell{Text: Condition(w)}, textfmt.Painted(w.State, waitColor(w.State)),
			textfmt.Cell{Text: textfmt.Span(s.Now.Sub(w.CreatedAt))}, textfmt.Cell{Text: textfmt.In(s.Now, w.Deadline)}, textfmt.Cell{Text: textfmt.Join(Reason(w.Reason), w.Receipt)})
	}
	return s.Table(t)
}

func waitColor(state string) textfmt.Color {
	switch state {
	case client.WaitFulfilled:
		return textfmt.Green
	case client.WaitFailed, client.WaitExpired:
		return textfmt.Red
	case client.WaitOpen:
		return textfmt.Yellow
	}
	return textfmt.Faint
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
