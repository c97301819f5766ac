package questions

import (
	"regexp"
	"slices"
	"strings"

	"gascity/internal/domain/session"
)

// elapsed matches a time that a dialog counts: "12s", "1m 5s", "3 minutes", "0:42".
// Other numbers are no times: "delete 3 files" is another question than "delete 4
// files".
var elapsed = regexp.MustCompile(`(?i)\b(?:` + amount + `(?:\s?` + amount + `)*|\d{1,2}(?::\d{2}){1,2})\b`)

const amount = `\d+(?:\.\d+)?\s?(?:milliseconds?|ms|minutes?|mins?|m|seconds?|secs?|s|hours?|hrs?|h)`

// stripTimes returns the text without the times in it, and however it is broken into lines.
func stripTimes(text string) string {
	return strings.Join(strings.Fields(elapsed.ReplaceAllLiteralString(text, "#")), " ")
}

// differsOnlyInTime reports whether what is asked now is what was asked, with another time in
// it: a dialog that counts is one question. What a tool is to do is compared as it
// is. The same text under another request is another question.
func differsOnlyInTime(open, asked *session.Pending) bool {
	alike := func(a, b string) bool { return stripTimes(a) == stripTimes(b) }
	if open.Instance != asked.Instance || open.Kind != asked.Kind || open.Tool != asked.Tool || open.Input != asked.Input {
		return false
	}
	if open.Prompt == asked.Prompt && slices.Equal(open.Options, asked.Options) {
		return false
	}
	return alike(open.Prompt, asked.Prompt) && slices.EqualFunc(open.Options, asked.Options, alike)
}

// refreshTexts returns the episode with what the dialog shows now.
func refreshTexts(open, asked *session.Pending) *session.Pending {
	next := *open
	next.Request, next.Prompt, next.Options, next.Why = asked.Request, asked.Prompt, asked.Options, asked.Why
	return &next
}
