package cityconfig

import (
	"path/filepath"
	"slices"
	"strings"

	"gascity/internal/agentcli"
)

// Environ is the environment of a process: entries NAME=VALUE.
type Environ []string

// Lookup returns the value of a variable, and whether it is set.
func (e Environ) Lookup(name string) (string, bool) {
	prefix := name + "="
	for _, entry := range slices.Backward(e) { // the last entry of a name counts, as in os/exec
		if value, ok := strings.CutPrefix(entry, prefix); ok {
			return value, true
		}
	}
	return "", false
}

// Get returns the value of a variable, empty if it is not set.
func (e Environ) Get(name string) string {
	value, _ := e.Lookup(name)
	return value
}

// passed are the names of the variables that every agent gets from the environment of the
// controller, and passedPrefixes the beginnings of further names. An agent gets no other variable
// unless city.toml or the profile of its agent CLI names it. The driver sets the variables about
// the terminal.
var (
	passed = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "SSH_AUTH_SOCK",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "__CF_USER_TEXT_ENCODING",
	}
	passedPrefixes = []string{"LC_", "XDG_"}
)

// RuntimeBase is the environment variable with the user's runtime directory, which exists until the
// last logout.
const RuntimeBase = "XDG_RUNTIME_DIR"

// SocketBases returns the directories in which the sockets of a city's sessions may be, the
// preferred one first: the user's state directory, which exists until it is deleted, and the
// runtime directory, which the system deletes when the user logs out.
func (e Environ) SocketBases() []string {
	state := e.Get("XDG_STATE_HOME")
	if home := e.Get("HOME"); !filepath.IsAbs(state) && filepath.IsAbs(home) {
		state = filepath.Join(home, ".local", "state")
	}
	return []string{state, e.Get(RuntimeBase)}
}

// RuntimeOverride returns the runtime provider in the variable GC_SESSION, which replaces the one
// in city.toml; empty if there is none. In the environment of an agent, GC_SESSION is the name of
// the session and no provider.
func (e Environ) RuntimeOverride() string {
	if selection := e.Get("GC_SESSION"); selection != e.Get("GC_SESSION_NAME") {
		return selection
	}
	return ""
}

// Base returns the variables of this environment that every agent gets: those in passed, and those
// of the agent CLIs, which begin with the name of a profile or like a variable in a profile.
func (e Environ) Base(profiles *agentcli.Set) []string {
	prefixes := slices.Concat(passedPrefixes, vendorPrefixes(profiles))
	var out []string
	for _, entry := range e {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(passed, name) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out = append(out, name+"="+e.Get(name)) // the last entry of a name counts
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// vendorPrefixes returns the beginnings of the variables that belong to the known agent CLIs, such
// as "GEMINI_", from the names of the profiles and the variables in them.
func vendorPrefixes(profiles *agentcli.Set) []string {
	var out []string
	add := func(word string) {
		if family, _, _ := strings.Cut(word, "_"); family != "" {
			out = append(out, family+"_")
		}
	}
	for _, name := range profiles.Names() {
		profile, ok := profiles.Lookup(name)
		if !ok {
			continue
		}
		add(strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
		for _, variable := range profile.UpstreamEnv {
			add(variable)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
