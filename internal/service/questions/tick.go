package questions

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"gascity/internal/domain/session"
)

// elapsed matches a time in a dialog: "12s", "1m 5s", "3 minutes", "0:42". Other numbers are not
// times: "delete 3 files" and "delete 4 files" are different questions.
var elapsed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + amount + `(?:\s?` + amount + `)*|\d{1,2}(?::\d{2}){1,2})\b`)
})

const amount = `\d+(?:\.\d+)?\s?(?:milliseconds?|ms|minutes?|mins?|m|seconds?|secs?|s|hours?|hrs?|h)`

// stripTimes returns the text with every time replaced by "#" and every run of white space replaced
// by one space.
func stripTimes(text string) string {
	return strings.Join(strings.Fields(elapsed().ReplaceAllLiteralString(text, "#")), " ")
}

// differsOnlyInTime reports whether asked, from a newer reading, is the same question as open apart
// from displayed times such as "29s left". It returns false if the texts are equal: the same text
// with another request ID is another question.
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

// refreshTexts returns a copy of the question open with the texts and the request ID that the
// dialog has now.
func refreshTexts(open, asked *session.Pending) *session.Pending {
	next := *open
	next.Request, next.Prompt, next.Options, next.Why = asked.Request, asked.Prompt, asked.Options, asked.Why
	return &next
}
