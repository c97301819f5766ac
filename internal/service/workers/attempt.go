package workers

import (
	"slices"
	"strconv"
	"strings"
)

// attemptMark separates a prompt's ID from the number of the attempt, from the second attempt on. A
// worker acts on an ID once, even if it has refused it.
const attemptMark = "~"

// findLastAttempt returns the message ID of a prompt's last attempt, or an empty string if the
// prompt was never sent.
func findLastAttempt(sent []string, id string) string {
	for _, name := range slices.Backward(sent) {
		if name == id || strings.HasPrefix(name, id+attemptMark) {
			return name
		}
	}
	return ""
}

// nextAttempt returns the message ID of a prompt's next attempt. It counts from the last attempt,
// because older IDs may no longer be in sent.
func nextAttempt(sent []string, id string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(findLastAttempt(sent, id), id+attemptMark))
	if err != nil {
		n = 1 // the first attempt has the prompt's own ID
	}
	return id + attemptMark + strconv.Itoa(n+1)
}

// receiptOf returns the receipt ID of a prompt's message, for any attempt.
func receiptOf(message string) string {
	id, _, _ := strings.Cut(message, attemptMark)
	return id
}
