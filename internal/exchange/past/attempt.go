package past

import (
	"fmt"
	"slices"
	"strings"
)

// attemptMark stands between a prompt's ID and the number of its attempt, from the
// second on: a worker acts on an ID once, also if it has refused.
const attemptMark = "~"

// Newest is the last name under which a prompt went; empty if it never did.
func Newest(sent []string, id string) string {
	for _, name := range slices.Backward(sent) {
		if name == id || strings.HasPrefix(name, id+attemptMark) {
			return name
		}
	}
	return ""
}

// Next is the name of a prompt's next attempt.
func Next(sent []string, id string) string {
	next := fmt.Sprintf("%s%s%d", id, attemptMark, 2)
	for n := 3; slices.Contains(sent, next); n++ {
		next = fmt.Sprintf("%s%s%d", id, attemptMark, n)
	}
	return next
}

// Receipt is the receipt of a prompt's message, whichever attempt that was.
func Receipt(message string) string {
	id, _, _ := strings.Cut(message, attemptMark)
	return id
}
