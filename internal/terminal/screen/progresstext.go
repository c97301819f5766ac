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

// pattern returns a function that compiles a pattern at its first use, because most commands read no screen.
func pattern(text string) func() *regexp.Regexp {
	return func() *regexp.Regexp { return regexp.MustCompile(text) }
}

// withoutClock replaces the parts of a text that change with time by "#": durations, and all numbers in brackets that
// contain a duration. Other numbers stay, because they can distinguish questions.
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
