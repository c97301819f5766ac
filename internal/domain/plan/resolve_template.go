package plan

import (
	"maps"
	"path"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"mvdan.cc/sh/v3/syntax"

	"gascity/internal/agent"
	"gascity/internal/config"
)

// templateVariables returns the variables of templates. WorkDir is itself a template that can use the
// others.
func (r *resolver) templateVariables() map[string]string {
	a, city := r.agent, r.city
	name := a.QualifiedName()
	vars := map[string]string{
		"Session":   agent.SessionName(city.Workspace.Name, name, city.Workspace.SessionTemplate, nil),
		"Agent":     name,
		"AgentBase": path.Base(name),
		"Rig":       a.Dir,
		"RigRoot":   "",
		"City":      city.Workspace.Name,
		"CityName":  city.Workspace.Name,
		"CityRoot":  city.Root,
		"ConfigDir": city.Root,
	}
	workDir := city.Root
	if a.Dir != "" {
		workDir = city.Abs(a.Dir)
		if r.rig != nil {
			workDir = city.Abs(r.rig.Path)
		}
		vars["RigRoot"] = workDir
	}
	if a.WorkDir != "" {
		r.vars = vars
		workDir = city.Abs(r.expand(a.Origin("work_dir"), "work_dir", a.WorkDir))
	}
	vars["WorkDir"] = workDir
	return vars
}

// expand returns one configuration value with its template expanded.
func (r *resolver) expand(at config.Origin, key, text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	out, err := execute(text, r.vars)
	if err != nil {
		e := r.city.ErrorAt(at, "%s: %s", key, err.Message)
		e.Hint = err.Hint
		r.errs = append(r.errs, e)
		return ""
	}
	return out
}

// expandList expands the template of each item of a list.
func (r *resolver) expandList(key string, texts []string) []string {
	var out []string
	for i, text := range texts {
		out = append(out, r.expand(r.agent.ItemOrigin(key, i), key, text))
	}
	return out
}

// templateFailure matches the line, column and message in an error of package text/template.
var templateFailure = regexp.MustCompile(`(?s)^template: template:(\d+)(?::(\d+))?: (?:executing "template" at )?(.*)$`)

// missingKey matches the message for an unknown template variable.
var missingKey = regexp.MustCompile(`^(?:<[^>]*>: )?map has no entry for key "(.*)"$`)

// execute expands a template with the variables. An error has the line and column in text, a
// message and a hint.
func execute(text string, vars map[string]string) (string, *config.Error) {
	functions := template.FuncMap{"quote": quote}
	t, err := template.New("template").Funcs(functions).Option("missingkey=error").Parse(text)
	var out strings.Builder
	if err == nil {
		err = t.Execute(&out, vars)
	}
	if err == nil {
		return out.String(), nil
	}
	failure := &config.Error{Message: err.Error()}
	if m := templateFailure.FindStringSubmatch(err.Error()); m != nil {
		failure.Line, _ = strconv.Atoi(m[1]) // digits by the pattern
		failure.Column = 1
		if column, err := strconv.Atoi(m[2]); err == nil {
			failure.Column = column + 1
		}
		failure.Message = m[3]
	}
	if m := missingKey.FindStringSubmatch(failure.Message); m != nil {
		failure.Message = "there is no {{." + m[1] + "}}"
		failure.Hint = config.Suggest(m[1], maps.Keys(vars))
	}
	return "", failure
}

// quote returns text as one quoted word of a POSIX shell. It fails if text contains a NUL byte.
func quote(text string) (string, error) {
	quoted, err := syntax.Quote(text, syntax.LangPOSIX)
	if err == nil || strings.ContainsRune(text, 0) {
		return quoted, err
	}
	// POSIX has no escape for control characters, but allows them unchanged in single quotes.
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'", nil
}
