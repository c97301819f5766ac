package fakeagent

import (
	"encoding/base64"
	"strings"
	"time"

	"gascity/internal/fakeagent/ledger"
)

// askOrLimit starts a directive that ends with an answer or with a usage limit. It returns false for other directives.
func (a *agent) askOrLimit(step directive) bool {
	switch step.verb {
	case "ask":
		a.putQuestion(step.question())
	case "askfor":
		wait, rest, _ := strings.Cut(step.arg, "|")
		a.putQuestion(directive{"ask", rest}.question())
		a.after("step", directive{arg: wait}.duration(), func() { a.choose("(gone)") })
	case "permit":
		a.putQuestion(step.permission())
	case "reply":
		a.wanted = step.arg
		a.display.print("● " + printable(step.arg))
		a.statusWithMessage("blocked", "question", step.arg)
		a.peer.wants(step.arg)
		a.redraw() // draw first: the record says that the question is visible
		a.ledger.write(ledger.Record{Kind: ledger.Asked, Dialog: step.arg})
	case "limit":
		a.hitLimit(step.arg)
	default:
		return false
	}
	return true
}

// putQuestion shows a question with options and records it.
func (a *agent) putQuestion(m *menu) {
	a.ask = m
	a.status("blocked", m.kind)
	a.peer.request(m)
	a.redraw() // draw first: the record says that the question is visible
	a.ledger.write(ledger.Record{Kind: ledger.Asked, Dialog: m.name})
	a.answerFromPipe()
}

// permission parses Tool|input|A|B. Without options it uses the three usual options.
func (d directive) permission() *menu {
	parts := strings.Split(d.arg+"|", "|")
	tool, input, options := parts[0], parts[1], parts[2:max(2, len(parts)-1)]
	if len(options) == 0 {
		options = []string{"Yes", "Yes, and always allow " + input + " in this project", "No"}
	}
	const question = "Do you want to proceed?"
	return &menu{
		name: question, kind: "permission", numbered: true, options: options, footer: "Esc to cancel · Tab to amend",
		text: []string{printable(tool) + " command", "", "  " + printable(input), "", question},
	}
}

// handleReply answers the open question with the submitted text.
func (a *agent) handleReply(text []byte) {
	name := a.wanted
	a.wanted = ""
	a.peer.questionResolved()
	a.ledger.write(ledger.Record{Kind: ledger.Choice, Dialog: name, Choice: string(text)})
	a.display.print("❯ " + firstLine(text))
	a.status("working", "")
	a.advance()
}

// hitLimit ends the turn with the message of a usage limit. arg is the time at which the limit resets; "|exit" after it also
// makes the agent exit.
func (a *agent) hitLimit(arg string) {
	until, exit := strings.CutSuffix(arg, "|exit")
	text := "You've hit your limit"
	if until != "" {
		text += " · resets " + until
	}
	a.turn = nil
	a.display.print("● " + text)
	a.ledger.write(ledger.Record{Kind: ledger.Limited, Reason: until})
	a.peer.ended("refusal")
	if exit {
		a.leave(1, "limit")
		return
	}
	a.rest()
}

// statusWithMessage is status with a message for people.
func (a *agent) statusWithMessage(state, kind, message string) {
	a.message = base64.StdEncoding.EncodeToString([]byte(message))
	a.status(state, kind)
	a.message = ""
}

// uiVariant holds the differences between versions of the user interface.
type uiVariant struct {
	rule, footer, working, workingFooter string
	glyphs, title, busyTitle             string
}

// uiVariants returns the versions that --ui accepts.
func uiVariants() map[string]uiVariant {
	known := uiVariant{
		rule: "─", footer: "? for shortcuts", working: " Simmering… (esc to interrupt)", workingFooter: "esc to interrupt",
		glyphs: "✽✻✶·", title: "✳", busyTitle: "◐",
	}
	spinner, box, bare := known, known, known
	spinner.working, spinner.workingFooter, spinner.glyphs = " Pondering", "stop: ctrl-x", "◜◝◞◟"
	spinner.title, spinner.busyTitle = "○", "◍"
	box.rule = "═"
	bare.footer, bare.workingFooter, bare.working, bare.title, bare.busyTitle = "", "", " Thinking", "", ""
	return map[string]uiVariant{"": known, "new-spinner": spinner, "new-box": box, "bare": bare}
}

// glyph returns the n-th character of the spinner.
func (l uiVariant) glyph(n int) string {
	glyphs := []rune(l.glyphs)
	return string(glyphs[n%len(glyphs)])
}

// limitAtStart shows a usage limit instead of the input box and makes the agent exit.
func (a *agent) limitAtStart() {
	a.after("limit", 50*time.Millisecond, func() { a.hitLimit(strings.TrimSuffix(a.m.limit, "never") + "|exit") })
}
