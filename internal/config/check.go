package config

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"gascity/internal/agent"
)

// checker checks the values of a city.toml that was decoded, and collects the mistakes.
type checker struct {
	city    *City
	catalog Catalog
	stat    statFunc // nil: files are not checked
	errs    []*Error

	// decoded contains the decoder's errors: a value that could not be decoded is not checked
	// again.
	decoded []*Error

	routeFails bool // an error of routing was already reported
}

// fail adds a mistake at a position. It adds nothing if the decoder has already reported a mistake
// at that position.
func (c *checker) fail(at Origin, hint, format string, args ...any) {
	e := c.city.ErrorAt(at, format, args...)
	e.Hint = hint
	if !slices.ContainsFunc(c.decoded, func(d *Error) bool { return e.Line > 0 && d.Line == e.Line && d.Column == e.Column }) {
		c.errs = append(c.errs, e)
	}
}

// check checks every section and collects the mistakes in errs.
func (c *checker) check() {
	c.workspace()
	c.session()
	c.daemon()
	c.delivery()
	c.guard()
	c.web()
	c.rigs()
	for _, name := range slices.Sorted(maps.Keys(c.city.Providers)) {
		c.provider(name, c.city.Providers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.city.Upstreams)) {
		c.upstream(c.city.Upstreams[name])
	}
	c.credentials()
	for i := range c.city.Agents {
		c.agent(&c.city.Agents[i])
	}
	c.duplicates()
	c.members()
	c.dependencies()
	c.sessionNames()
	c.usage()
	c.notify()
}

// workspace checks the [workspace] table.
func (c *checker) workspace() {
	w := &c.city.Workspace
	if strings.TrimSpace(w.Name) == "" || strings.ContainsFunc(w.Name, unicode.IsControl) {
		c.fail(w.Origin("name"), "", "the name of a city must be one line of text, not %q", w.Name)
	}
	c.agentCLI(w.Keys, w.Provider)
	c.packOverlays(w.Keys, w.PackOverlayDirs)
	if n := w.MaxActiveSessions; n != nil {
		c.positive(w.Keys, "max_active_sessions", int64(*n))
	}
}

// session checks the [session] table.
func (c *checker) session() {
	s := &c.city.Session
	c.runtime(s.Keys, "provider", s.Provider)
	c.backends(s.Auto.Keys, s.Auto)
	c.backends(s.Hybrid.Keys, s.Hybrid)
	c.positive(s.Keys, "startup_timeout", int64(s.StartupTimeout))
	c.positive(s.Keys, "setup_timeout", int64(s.SetupTimeout))
	if s.SetupMaxTimeout > 0 && s.SetupMaxTimeout < s.SetupTimeout {
		c.fail(s.Origin("setup_max_timeout"), "", "setup_max_timeout (%s) is shorter than setup_timeout (%s)", s.SetupMaxTimeout, s.SetupTimeout)
	}
}

// backends checks a section whose values are runtime providers: each must exist and run sessions
// itself.
func (c *checker) backends(keys Keys, section any) {
	for _, f := range fieldsOf(reflect.TypeOf(section)) {
		selection := reflect.ValueOf(section).FieldByIndex(f.index).String()
		c.runtime(keys, f.name, selection)
		if c.catalog.runtime(selection).Route != nil {
			c.fail(keys.Origin(f.name), "write a runtime provider that runs sessions itself", "%q runs no sessions: it only routes them to other runtime providers", selection)
		}
	}
}

// daemon checks the [daemon] table.
func (c *checker) daemon() {
	d := &c.city.Daemon
	c.positive(d.Keys, "patrol_interval", int64(d.PatrolInterval))
	c.positive(d.Keys, "restart_window", int64(d.RestartWindow))
	c.positive(d.Keys, "probe_concurrency", int64(d.ProbeConcurrency))
	c.positive(d.Keys, "max_wakes_per_tick", int64(d.MaxWakesPerTick))
	c.positive(d.Keys, "start_ready_timeout", int64(d.StartReadyTimeout))
}

// The shortest and the longest progress_timeout.
const (
	minProgress = 5 * time.Second
	maxProgress = time.Hour
)

// delivery checks the [delivery] table.
func (c *checker) delivery() {
	d := &c.city.Delivery
	if t := d.ProgressTimeout; d.Has("progress_timeout") && (t < minProgress || t > maxProgress) {
		c.fail(d.Origin("progress_timeout"), "", "progress_timeout is %s; it must be from %s to %s", t, minProgress, maxProgress)
	}
}

// positive adds a mistake if the key is in the file with the value zero.
func (c *checker) positive(keys Keys, key string, value int64) {
	if value == 0 && keys.Has(key) {
		c.fail(keys.Origin(key), "", "%s cannot be zero", key)
	}
}

// unique adds a mistake if an earlier section has the same name. The map first has the position of
// each name so far; unique adds the name with its position. The text what describes the sections in
// the message, for example "rigs named".
func (c *checker) unique(first map[string]Origin, at Origin, what, name string) {
	if before, ok := first[name]; ok {
		c.fail(at, fmt.Sprintf("the first one is at %s", before), "there are two %s %q", what, name)
	}
	first[name] = at
}

// rigs checks the [[rigs]] sections: each must have a unique name and the path of an existing
// directory.
func (c *checker) rigs() {
	seen := map[string]Origin{}
	for i := range c.city.Rigs {
		rig := &c.city.Rigs[i]
		if !c.name(rig.Keys, rig.Name) {
			continue
		}
		c.unique(seen, rig.Origin("name"), "rigs named", rig.Name)
		if rig.Path == "" {
			c.fail(rig.Header(), `add path = "/path/of/the/project"`, "rig %q has no path", rig.Name)
		}
		c.folder(rig.Origin("path"), "path", rig.Path)
	}
}

// maxName is the maximum length of a name in bytes, because people read names in tables.
const maxName = 200

// segment matches a valid name, or one part of a path of names.
var segment = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// name checks the required key name of a section, and reports whether it is valid. A name cannot
// contain a slash.
func (c *checker) name(keys Keys, value string) bool {
	const key = "name"
	switch {
	case !keys.Has(key):
		c.fail(keys.Header(), fmt.Sprintf("add %s = \"...\"", key), "%s is missing", key)
	case strings.Contains(value, "/"):
		c.fail(keys.Origin(key), `put the part before the last "/" into dir`, "%s cannot contain a slash: %q", key, value)
	case !segment.MatchString(value):
		c.fail(keys.Origin(key), "use letters, digits, '.', '_' and '-', and begin with a letter or digit", "%q is not a valid %s", value, key)
	case len(value) > maxName:
		c.fail(keys.Origin(key), fmt.Sprintf("use at most %d characters", maxName), "%s has %d characters", key, len(value))
	default:
		return true
	}
	return false
}

// provider checks a [providers.NAME] table, which describes an agent CLI.
func (c *checker) provider(name string, p Provider) {
	if !segment.MatchString(name) {
		c.fail(p.Header(), "use letters, digits, '.', '_' and '-'", "%q is not the name of a provider", name)
	}
	c.variables(p.Keys, p.Env)
	for _, key := range slices.Sorted(maps.Keys(p.UpstreamEnv)) {
		known := []string{"base_url", "api_key", "auth_token"} // what agent CLIs read from environment variables
		if !slices.Contains(known, key) {
			c.fail(p.Origin("upstream_env."+key), suggest(key, known), "upstream_env cannot have the key %q", key)
		}
	}
	if p.Base != "" {
		c.base(name, p)
	}
}

// base checks the key base of the agent CLI called name: it must refer to a built-in profile or to
// another [providers.NAME] section, and must not lead back to this one.
func (c *checker) base(name string, p Provider) {
	kind, base := p.BaseOf()
	declared := slices.Sorted(maps.Keys(c.city.Providers))
	switch at := p.Origin("base"); {
	case kind != "" && kind != "builtin" && kind != "provider":
		c.fail(at, "write builtin:<name> or provider:<name>", "unknown kind of base %q", kind)
	case kind != "builtin" && slices.Contains(declared, base):
		c.baseCycle(name, at)
	case kind == "provider":
		c.fail(at, suggest(base, declared), "there is no [providers.%s]", base)
	case c.catalog.AgentCLIs != nil && !slices.Contains(c.catalog.AgentCLIs, base):
		c.fail(at, suggest(base, c.catalog.AgentCLIs), "there is no profile %q", base)
	}
}

// baseCycle adds a mistake if following the key base from section to section leads back to the
// section called name.
func (c *checker) baseCycle(name string, at Origin) {
	path := []string{name}
	for next := name; ; {
		kind, base := c.city.Providers[next].BaseOf()
		if _, declared := c.city.Providers[base]; kind == "builtin" || base == "" || !declared || kind == "" && base == next {
			return
		}
		path = append(path, base)
		if base == name {
			if slices.Min(path) != name {
				return // reported for the first provider of the cycle
			}
			c.fail(at, "", "provider %q is based on itself: %s", name, strings.Join(path, " -> "))
			return
		}
		if slices.Contains(path[:len(path)-1], base) {
			return // a cycle without this provider; it is reported for the providers in it
		}
		next = base
	}
}

// upstream checks an [upstreams.NAME] table.
func (c *checker) upstream(u Upstream) {
	c.variables(u.Keys, u.Env)
	if !u.Has("base_url") {
		return
	}
	address, err := url.Parse(u.BaseURL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		c.fail(u.Origin("base_url"), `write it like "https://host/path"`, "base_url is not the address of a web service")
	} else if address.User != nil {
		c.fail(u.Origin("base_url"), "put the password into api_key or auth_token", "base_url contains a password")
	}
}

// variable matches the name of an environment variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variables checks names and values of environment variables.
func (c *checker) variables(keys Keys, env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !variable.MatchString(name) {
			c.fail(keys.Origin("env."+name), "use letters, digits and '_'", "%q is not the name of an environment variable", name)
		}
		if strings.ContainsRune(env[name], 0) {
			c.fail(keys.Origin("env."+name), "remove the byte", "the value of %s contains a NUL byte, which no environment variable can have", name)
		}
	}
}

// agentCLI checks that the key provider names an agent CLI that is built in or has a
// [providers.NAME] section.
func (c *checker) agentCLI(keys Keys, name string) {
	if name == "" || c.catalog.AgentCLIs == nil {
		return
	}
	names := slices.Concat(slices.Collect(maps.Keys(c.city.Providers)), c.catalog.AgentCLIs)
	if !slices.Contains(names, name) {
		hint := suggest(name, names)
		if !strings.HasPrefix(hint, "did you mean") {
			hint = ""
		}
		known := "known: " + strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
		c.fail(keys.Origin("provider"), strings.TrimSpace(hint+" "+known), "there is no agent CLI %q; add [providers.%s] to make one", name, name)
	}
}

// runtime checks that the key names a runtime provider that gc has, with the right kind of
// argument.
func (c *checker) runtime(keys Keys, key, selection string) {
	if selection == "" {
		return
	}
	if err := c.catalog.CheckRuntime(selection); err != nil {
		c.fail(keys.Origin(key), err.Hint, "%s", err.Message)
	}
}

// duplicates adds a mistake for each agent whose qualified name another agent already has.
func (c *checker) duplicates() {
	seen := map[string]Origin{}
	for i := range c.city.Agents {
		a := &c.city.Agents[i]
		name := a.QualifiedName()
		if !a.Has("name") {
			continue
		}
		if first, ok := seen[name]; ok {
			c.fail(a.Origin("name"), fmt.Sprintf("the first one is at %s; rename one or give it another dir", first), "there are two agents named %q", name)
			continue
		}
		seen[name] = a.Origin("name")
	}
}

// sessionNames checks that session_template gives every agent another session name.
func (c *checker) sessionNames() {
	w := &c.city.Workspace
	if w.SessionTemplate == "" {
		return
	}
	names := map[string]string{}
	for i := range c.city.Agents {
		name := c.city.Agents[i].QualifiedName()
		var warning strings.Builder
		names[name] = agent.SessionName(w.Name, name, w.SessionTemplate, &warning)
		if warning.Len() > 0 {
			text := strings.TrimPrefix(strings.TrimSpace(warning.String()), "warning: ")
			c.fail(w.Origin("session_template"), "it is a Go template with .City, .Agent, .Dir and .Name", "%s", text)
			return
		}
	}
	if err := agent.Distinct(names); err != nil {
		c.fail(w.Origin("session_template"), "", "%v", err)
	}
}

// cleanDir reports whether dir is a path of valid names below the city directory, without "." and
// "..".
func cleanDir(dir string) bool {
	for part := range strings.SplitSeq(dir, "/") {
		if !segment.MatchString(part) {
			return false
		}
	}
	return path.Clean(dir) == dir
}
