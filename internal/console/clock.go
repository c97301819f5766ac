package console

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
	spanned = lazy(span)
	aside   = lazy(`\([^()]*\)|\[[^\[\]]*\]`)
	counted = lazy(`\d[\d.,]*[kM]?`)
	told    = lazy(`(?i)\b(?:in|waiting|waited|waiting for)\s+` + span + `|` + span + `\s+(?:left|remaining|elapsed|ago|to go)\b`)
)

// lazy is a pattern that is compiled when it is needed: most commands read no screen.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// clockless returns the text without what a clock changes in it while the question stays the
// same: times told as such, and every number beside a time in brackets. Other numbers make
// another question, such as a command's own.
func clockless(text string) string {
	text = aside().ReplaceAllStringFunc(text, func(s string) string {
		if !spanned().MatchString(s) {
			return s
		}
		return counted().ReplaceAllLiteralString(spanned().ReplaceAllLiteralString(s, "#"), "#")
	})
	return told().ReplaceAllLiteralString(text, "#")
}

// unhurried returns the lines without those that show progress.
func unhurried(lines []string, rules Rules) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return agentcli.MatchAny(rules.Screen.Busy, strings.TrimSpace(line))
	})
}
