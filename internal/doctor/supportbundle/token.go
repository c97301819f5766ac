package supportbundle

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gascity/internal/config"
	"gascity/runtime"
)

// shapes are texts that look like tokens: keys of model providers and of code hosts, of clouds
// and chats, and web tokens.
const shapes = `\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}` +
	`|\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})` +
	`|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}` +
	`|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\b(?:npm|hf)_[A-Za-z0-9]{20,}` +
	`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`

// marks are what each of the shapes begins with: most lines have none of them.
const marks = "sk- rk- pk- gh github_pat_ glpat- AKIA ASIA AIza ya29. xox npm_ hf_ eyJ"

const (
	keys    = `-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`
	keyMark = "PRIVATE KEY-----"
)

// Names with a value: as environments, headers and JSON write them, and as environments
// alone do.
const (
	assignments = `([A-Za-z_][A-Za-z0-9_-]*)(\\?"?[ \t]*[=:][ \t]*(?:(?i:bearer|basic)[ \t]+)?\\?["']?)([^\s"'\\,;]{6,})`
	variables   = `([A-Za-z_][A-Za-z0-9_]*)(=\\?["']?)([^\s"'\\,;]{6,})`
)

// tokens takes out what is a credential by its looks or its name.
type tokens struct {
	marks                          []string
	key, shape, assigned, variable *regexp.Regexp
}

func newTokens() tokens {
	return tokens{
		marks: strings.Fields(marks), key: regexp.MustCompile(keys),
		shape: regexp.MustCompile(shapes), assigned: regexp.MustCompile(assignments), variable: regexp.MustCompile(variables),
	}
}

// hide replaces what looks like a token, and what is given a name like a credential's:
// as the value of a variable, and, in what programs printed, in other ways.
func (t tokens) hide(text string, printed bool) string {
	if strings.Contains(text, keyMark) {
		text = t.key.ReplaceAllString(text, config.Masked)
	}
	assigned, signs := t.variable, "="
	if printed {
		assigned, signs = t.assigned, "=:"
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(t.marks, func(mark string) bool { return strings.Contains(line, mark) }) {
			line = t.shape.ReplaceAllString(line, config.Masked)
		}
		if strings.ContainsAny(line, signs) {
			line = hideAssigned(assigned, line)
		}
		out.WriteString(line)
	}
	return out.String()
}

// hideAssigned hides the values of names like credentials'. A number is none: programs
// count tokens. What is no credential may hold one.
func hideAssigned(assigned *regexp.Regexp, text string) string {
	return assigned.ReplaceAllStringFunc(text, func(assignment string) string {
		part := assigned.FindStringSubmatch(assignment)
		if !runtime.CredentialName(part[1]) {
			return part[1] + part[2] + hideAssigned(assigned, part[3])
		}
		if _, err := strconv.ParseFloat(part[3], 64); err == nil {
			return assignment
		}
		return part[1] + part[2] + config.Masked
	})
}
