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
	anyDuration    = sync.OnceValue(pattern(span))
	inBrackets     = sync.OnceValue(pattern(`\([^()]*\)|\[[^\[\]]*\]`))
	anyNumber      = sync.OnceValue(pattern(`\d[\d.,]*[kM]?`))
	durationPhrase = sync.OnceValue(pattern(`(?i)\b(?:in|waiting|waited|waiting for)\s+` + span + `|` + span + `\s+(?:left|remaining|elapsed|ago|to go)\b`))
)

// pattern returns a function that compiles a pattern at its first use, because most commands read no screen.
func pattern(text string) func() *regexp.Regexp {
	return func() *regexp.Regexp { return regexp.MustCompile(text) }
}

// withoutClock replaces the parts of a text that change with time by "#". In brackets that contain a duration, these are all
// durations and numbers. Outside of brackets these are phrases with a duration, such as "5s left". Other numbers stay, because
// they can distinguish questions.
func withoutClock(text string) string {
	text = inBrackets().ReplaceAllStringFunc(text, func(s string) string {
		if !anyDuration().MatchString(s) {
			return s
		}
		return anyNumber().ReplaceAllLiteralString(anyDuration().ReplaceAllLiteralString(s, "#"), "#")
	})
	return durationPhrase().ReplaceAllLiteralString(text, "#")
}

// withoutProgress returns the lines without those that show progress.
func withoutProgress(lines []string, rules Rules) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return agentcli.MatchAny(rules.Screen.Busy, strings.TrimSpace(line))
	})
}
