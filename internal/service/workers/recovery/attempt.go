package recovery

import (
	"slices"
	"strconv"
	"strings"
)

// attemptMark stands between a prompt's ID and the number of its attempt, from the
// second on: a worker acts on an ID once, also if it has refused.
const attemptMark = "~"

// Newest returns the last name under which a prompt went; empty if it never did.
func Newest(sent []string, id string) string {
	for _, name := range slices.Backward(sent) {
		if name == id || strings.HasPrefix(name, id+attemptMark) {
			return name
		}
	}
	return ""
}

// Next returns the name of a prompt's next attempt. Only the newest names are remembered: it counts on.
func Next(sent []string, id string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(Newest(sent, id), id+attemptMark))
	if err != nil {
		n = 1 // it went once, under its own
	}
	return id + attemptMark + strconv.Itoa(n+1)
}

// Receipt returns the receipt of a prompt's message, whichever attempt that was.
func Receipt(message string) string {
	id, _, _ := strings.Cut(message, attemptMark)
	return id
}
