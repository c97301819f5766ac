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

The state of a session is its position in the lifecycle. The activity of a session (busy, idle and so on) is a separate value. The table has one row
for each trigger and one column for each state. A cell shows the state after the trigger:

- A dot: the trigger is accepted and the state does not change.
- A name: the state changes to that name.
- A name in brackets: the trigger is not expected in this state. gc logs it and changes to that state, because an observation overrides an
  expectation.
- A dot in brackets: the trigger does not apply in this state, and the state does not change.

A reader treats a state that it does not know as ` + "`unknown`" + `.

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

// outcome returns the text for one state and one trigger in the table of the reference.
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
