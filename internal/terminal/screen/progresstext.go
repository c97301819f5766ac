package screen

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"gascity/internal/agentcli"
)

const (
	amount = `(?:\d+(?::\d\d)+|\d+(?:\.\d+)?\s?(?:ms|[smhd]|secs?|seconds?|mins?|minutes?|hours?)\b)`
	span   = amount + `(?:\s?` + amount + `)*`
)

var (
	spanned        = sync.OnceValue(pattern(span))
	aside          = sync.OnceValue(pattern(`\([^()]*\)|\[[^\[\]]*\]`))
	counted        = sync.OnceValue(pattern(`\d[\d.,]*[kM]?`))
	durationPhrase = sync.OnceValue(pattern(`(?i)\b(?:in|waiting|waited|waiting for)\s+` + span + `|` + span + `\s+(?:left|remaining|elapsed|ago|to go)\b`))
)

// pattern compiles a pattern when it is needed: most commands read no screen.
func pattern(text string) func() *regexp.Regexp {
	return func() *regexp.Regexp { return regexp.MustCompile(text) }
}

// withoutClock returns the text without what a clock changes in it while the question stays the
// same: times written as such, and every number beside a time in brackets. Other numbers
// make another question, such as a command's own.
func withoutClock(text string) string {
	text = aside().ReplaceAllStringFunc(text, func(s string) string {
		if !spanned().MatchString(s) {
			return s
		}
		return counted().ReplaceAllLiteralString(spanned().ReplaceAllLiteralString(s, "#"), "#")
	})
	return durationPhrase().ReplaceAllLiteralString(text, "#")
}

// withoutProgress returns the lines without those that show progress.
func withoutProgress(lines []string, rules Rules) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return agentcli.MatchAny(rules.Screen.Busy, strings.TrimSpace(line))
	})
}
