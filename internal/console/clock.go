package console

import (
	"regexp"
	"slices"
	"strings"

	"gascity/internal/agentcli"
)

const (
	amount = `(?:\d+(?::\d\d)+|\d+(?:\.\d+)?\s?(?:ms|[smhd]|secs?|seconds?|mins?|minutes?|hours?)\b)`
	span   = amount + `(?:\s?` + amount + `)*`
)

var (
	spanned = regexp.MustCompile(span)
	aside   = regexp.MustCompile(`\([^()]*\)|\[[^\[\]]*\]`)
	counted = regexp.MustCompile(`\d[\d.,]*[kM]?`)
	told    = regexp.MustCompile(`(?i)\b(?:in|waiting|waited|waiting for)\s+` + span + `|` + span + `\s+(?:left|remaining|elapsed|ago|to go)\b`)
)

// clockless returns the text without what a clock changes in it while the question stays the
// same: times told as such, and every number beside a time in brackets. Other numbers make
// another question, such as a command's own.
func clockless(text string) string {
	text = aside.ReplaceAllStringFunc(text, func(s string) string {
		if !spanned.MatchString(s) {
			return s
		}
		return counted.ReplaceAllLiteralString(spanned.ReplaceAllLiteralString(s, "#"), "#")
	})
	return told.ReplaceAllLiteralString(text, "#")
}

// unhurried returns the lines without those that show progress.
func unhurried(lines []string, rules Rules) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return agentcli.MatchAny(rules.Screen.Busy, strings.TrimSpace(line))
	})
}
