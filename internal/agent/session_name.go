package agent

import (
	"fmt"
	"io"
	"strings"
	"text/template"

	"gascity/runtime"
)

// SessionName returns the name of the agent's session in the city: that of the template, or of the
// default scheme if the template is empty. If the template does not parse, fails, or produces an
// invalid name, the default is used and a warning, one line, is written to warn. A nil warn drops
// it. The name depends only on the other arguments.
func SessionName(city, agent, template string, warn io.Writer) string {
	if template == "" {
		return defaultName(city, agent)
	}
	name, err := templateName(city, agent, template)
	if err == nil {
		return name
	}
	name = defaultName(city, agent)
	if warn != nil {
		fmt.Fprintf(warn, "warning: cannot name the session of agent %q by session_template %q: %v; it is named %s\n",
			agent, template, err, name)
	}
	return name
}

// ParseSessionName returns the agent of a session name in the default scheme. ok is false for a
// session of another city, for a name that the scheme does not produce, and for a name that was cut
// because of its length. Compare a cut name with [SessionName] of the possible agents.
func ParseSessionName(city, session string) (agent string, ok bool) {
	text, ok := strings.CutPrefix(session, prefix)
	if !ok {
		return "", false
	}
	left, right, ok := strings.Cut(text, explicitBoundary)
	if !ok {
		at := readBoundary(text)
		if at < 0 {
			return "", false
		}
		left, right = text[:at], text[at+1:]
	}
	if left != encodePart(city, slashAsByte) {
		return "", false
	}
	agent, ok = decodePart(right)
	if !ok || defaultName(city, agent) != session {
		return "", false
	}
	return agent, true
}

// templateFields are the fields that a template can use.
type templateFields struct {
	City  string // the city
	Agent string // the qualified name
	Dir   string // the part before the agent's last "/", or empty
	Name  string // the part after it
}

// templateName returns the session name of a template, or an error if the template or the name is
// invalid.
func templateName(city, agent, text string) (string, error) {
	t, err := template.New("session_template").Parse(text)
	if err != nil {
		return "", err
	}
	dir, name, found := cutLast(agent, "/")
	fields := templateFields{
		City:  encodePart(city, slashAsByte),
		Agent: encodePart(agent, slashAsDashes),
		Name:  encodePart(name, slashAsDashes),
	}
	if found {
		fields.Dir = encodePart(dir, slashAsDashes)
	}
	var out strings.Builder
	if err := t.Execute(&out, fields); err != nil {
		return "", err
	}
	return out.String(), runtime.ValidateName(out.String())
}

// cutLast cuts s around the last sep. If there is none, after is s.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}
