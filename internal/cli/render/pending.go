package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Pending returns questions, each with its exact text, its options and how to answer it.
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

// question returns one question with all details.
func (s Formatter) question(p client.Pending) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s  %s  %s\n", s.Paint(textfmt.Bold, textfmt.OneLine(p.ID)), s.Paint(textfmt.Cyan, textfmt.OneLine(p.Agent)), s.Paint(textfmt.Yellow, strings.ReplaceAll(textfmt.OneLine(p.Kind), "_", " ")),
		s.Paint(textfmt.Faint, textfmt.Ago(s.Now, p.Since)+", from "+textfmt.OneLine(cmp.Or(p.Source, "an unknown source"))))
	if p.Tool != "" || p.Input != "" {
		out.WriteString(s.lines(strings.TrimPrefix(p.Tool+": "+p.Input, ": "), indent))
	}
	if p.Prompt != "" {
		out.WriteString(s.lines(p.Prompt, indent))
	}
	if p.Guard != nil && (s.Verbose || p.Guard.Rule != "" || p.Guard.Action != "allow") { // otherwise no rule matches
		out.WriteString(s.guardReading(*p.Guard))
	}
	for n, option := range p.Options {
		fmt.Fprintf(&out, "    %s  %s\n", s.Paint(textfmt.Bold, fmt.Sprint(n+1)), textfmt.OneLine(option))
	}
	out.WriteString(s.lines(s.outcome(p), indent))
	return out.String()
}

// guardReading returns what the call of a question would do, and what the rules of the city say.
func (s Formatter) guardReading(g client.GuardReading) string {
	var out strings.Builder
	if s.Verbose {
		t := &textfmt.Table{Heads: make([]string, 3)}
		for _, part := range g.Parts {
			t.Add(textfmt.Cell{Text: "    " + cmp.Or(part.Action, "-")}, textfmt.Cell{Text: textfmt.OneLine(part.Text)}, textfmt.Painted(part.Rule, textfmt.Faint))
		}
		out.WriteString(s.Table(t))
	} else {
		out.WriteString(s.lines("the call "+strings.Join(g.Does, "; "), indent))
	}
	out.WriteString(s.lines(g.Reason, indent))
	if s.Verbose && g.NoAlways != "" {
		out.WriteString(s.lines("no rule can allow it always: "+g.NoAlways, indent))
	}
	return out.String()
}

// openQuestion returns a question in a short form for the status: its text, its options and the command
// that answers it.
func (s Formatter) openQuestion(p client.Pending) string {
	var out strings.Builder
	asked := allLines(cmp.Or(p.Prompt, p.Tool))
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

// allLines returns a text in one line: its lines that are not empty, joined.
func allLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return textfmt.Join(lines...)
}

// questionWidth is the largest width, in columns, of a question in the status.
const questionWidth = 160

// outcome returns how a question was closed. For an open question it returns how to answer it and what
// happens without an answer.
func (s Formatter) outcome(p client.Pending) string {
	if p.State != client.PendingOpen {
		result := p.State
		if p.Answer != "" {
			result += fmt.Sprintf(" with %q", p.Answer)
		}
		if p.AnsweredBy != "" {
			result += " by " + p.AnsweredBy
		}
		if p.State == client.PendingResolved && !p.Until.IsZero() && !p.EndedAt.Before(p.Until) {
			result = "the agent stopped waiting: no answer arrived in time"
		}
		return result + ", " + textfmt.Ago(s.Now, p.EndedAt)
	}
	always := ""
	if p.Guard != nil && p.Guard.Always != nil {
		always = "allow always with: gc respond " + p.ID + " --always"
	}
	return textfmt.Join("answer with: "+HowToAnswer(p), always, Reason(p.Why), s.policy(p))
}

// HowToAnswer returns the command with which a person can answer an open question: with the number of an option or with
// a text, or gc attach if only the terminal can answer it.
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

// policy returns what happens next without an answer, and when: the agent stops waiting, the
// city's policy is applied, or a reminder is sent. It is empty if nothing happens.
func (s Formatter) policy(p client.Pending) string {
	if !p.Until.IsZero() && (p.Deadline.IsZero() || p.Until.Before(p.Deadline)) {
		return "the agent stops waiting in " + cmp.Or(textfmt.In(s.Now, p.Until), "a moment")
	}
	if !p.Escalated.IsZero() {
		return "reminder sent " + textfmt.Ago(s.Now, p.Escalated)
	}
	left := textfmt.In(s.Now, p.Deadline)
	if p.Deadline.IsZero() || p.Policy == "wait" || p.Policy == "" {
		return ""
	}
	what := map[string]string{"deny": "it is denied", "answer": fmt.Sprintf("it is answered with %q", p.Default), "escalate": "reminder"}[p.Policy]
	return cmp.Or(what, p.Policy) + " in " + cmp.Or(left, "a moment")
}

// Waits returns a table of registered waits.
func (s Formatter) Waits(list []client.Wait) string {
	t := &textfmt.Table{Heads: []string{"ID", "OWNER", "CONDITION", "STATE", "AGE", "EXPIRES IN", "NOTE"}}
	for _, w := range list {
		t.Add(textfmt.Painted(w.ID, textfmt.Bold), textfmt.Cell{Text: w.Owner}, textfmt.Cell{Text: Condition(w)}, textfmt.Painted(w.State, cmp.Or(waitColors[w.State], textfmt.Faint)),
			textfmt.Cell{Text: textfmt.Span(s.Now.Sub(w.CreatedAt))}, textfmt.Cell{Text: textfmt.In(s.Now, w.Deadline)}, textfmt.Cell{Text: textfmt.Join(Reason(w.Reason), w.Receipt)})
	}
	return s.Table(t)
}

// waitColors maps the states of registered waits to colors. The others are faint.
var waitColors = map[string]textfmt.Color{
	client.WaitFulfilled: textfmt.Green, client.WaitFailed: textfmt.Red, client.WaitExpired: textfmt.Red, client.WaitOpen: textfmt.Yellow,
}

// Condition describes the condition of a wait as a clause that can follow "when".
func Condition(w client.Wait) string {
	switch w.For {
	case client.WaitReceipt:
		return "the prompt " + w.Arg + " is finished"
	case client.WaitPending:
		return "the question " + w.Arg + " is closed"
	case client.WaitTime:
		return "the time " + w.Arg + " has come"
	case client.WaitCommand:
		return "this command succeeds: " + FirstLine(w.Arg)
	}
	return w.Target + " is " + w.For
}
