package workers

import (
	"slices"
	"strconv"
	"strings"
)

// attemptMark separates a prompt's ID from the number of the attempt, from the second attempt on. A
// worker acts on an ID once, even if it has refused it.
const attemptMark = "~"

// findLastAttempt returns the ID of the message with which a prompt was last sent to the worker,
// from the list sent. It returns "" if the prompt is not in the list.
func findLastAttempt(sent []string, id string) string {
	for _, name := range slices.Backward(sent) {
		if name == id || strings.HasPrefix(name, id+attemptMark) {
			return name
		}
	}
	return ""
}

// nextAttempt returns the message ID for another attempt to send a prompt: the prompt's ID and the
// number of the attempt. It counts from the last attempt in sent, which may not contain the older
// ones any more.
func nextAttempt(sent []string, id string) string {
	n, err := strconv.Atoi(strings.TrimPrefix(findLastAttempt(sent, id), id+attemptMark))
	if err != nil {
		n = 1 // the first attempt has the prompt's own ID
	}
	return id + attemptMark + strconv.Itoa(n+1)
}

// receiptOf returns the ID of the receipt of a prompt from the ID of any message with which the
// prompt was sent.
func receiptOf(message string) string {
	id, _, _ := strings.Cut(message, attemptMark)
	return id
}
