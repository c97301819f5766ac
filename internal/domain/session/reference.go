package session

import (
	"fmt"
	"strings"
)

// Reference returns the text of docs/reference/states.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# States of a session

Generated from internal/domain/session; run make gen after a change.

The state is the session's lifecycle. What the agent is doing meanwhile is its activity, which is another axis. Every
pair of a state and a trigger has an outcome. A dot is accepted and changes nothing. Brackets are what ought not to
happen: it is logged, and the state is the one in the brackets, because what is seen wins over what was expected; a dot
in brackets is an intention that does not apply. A reader treats a word that it does not know as unknown.

`)
	b.WriteString("| |")
	for _, state := range States() {
		fmt.Fprintf(&b, " %s |", state)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", len(States())))
	for _, t := range Triggers() {
		fmt.Fprintf(&b, "| **%s** |", t)
		for _, state := range States() {
			fmt.Fprintf(&b, " %s |", outcome(state, t))
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n| trigger | meaning |\n|---|---|\n")
	for i := range transitions {
		fmt.Fprintf(&b, "| %s | %s |\n", transitions[i].trigger, transitions[i].meaning)
	}
	return b.String()
}

// outcome returns one cell of the table.
func outcome(s State, t Trigger) string {
	next, err := Next(s, t)
	word := string(next)
	if next == s {
		word = "."
	}
	if err != nil {
		return "(" + word + ")"
	}
	return word
}
