package doctor

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gascity/internal/config"
	"gascity/runtime"
)

// tokenShapes match texts that look like tokens: keys of model providers, code hosts, clouds and
// chat services, and web tokens.
const tokenShapes = `\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}` +
	`|\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})` +
	`|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}` +
	`|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\b(?:npm|hf)_[A-Za-z0-9]{20,}` +
	`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`

// tokenMarks are the beginnings of the shapes. A line without any of them needs no match.
const tokenMarks = "sk- rk- pk- gh github_pat_ glpat- AKIA ASIA AIza ya29. xox npm_ hf_ eyJ"

const (
	privateKeys    = `-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`
	privateKeyMark = "PRIVATE KEY-----"
)

// Patterns of a name with a value: assignments in the forms of environments, headers and JSON;
// variables only in the form of environments.
const (
	assignments = `([A-Za-z_][A-Za-z0-9_-]*)(\\?"?[ \t]*[=:][ \t]*(?:(?i:bearer|basic)[ \t]+)?\\?["']?)([^\s"'\\,;]{6,})`
	variables   = `([A-Za-z_][A-Za-z0-9_]*)(=\\?["']?)([^\s"'\\,;]{6,})`
)

// tokens hides texts that are credentials by their form or by their name.
type tokens struct {
	marks                          []string
	key, shape, assigned, variable *regexp.Regexp
}

func newTokens() tokens {
	return tokens{
		marks: strings.Fields(tokenMarks), key: regexp.MustCompile(privateKeys),
		shape: regexp.MustCompile(tokenShapes), assigned: regexp.MustCompile(assignments), variable: regexp.MustCompile(variables),
	}
}

// hide masks in text everything that looks like a token, and the values of variables with the name
// of a credential. If a program has printed the text, it also masks values in other forms, such as
// "password: value", see [assignments].
func (t tokens) hide(text string, printed bool) string {
	if strings.Contains(text, privateKeyMark) {
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

// hideAssigned masks the values of names that look like credentials. A number is not masked,
// because programs count tokens. It also searches the values of other names.
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
