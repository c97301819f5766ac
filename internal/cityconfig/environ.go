package cityconfig

import (
	"path/filepath"
	"slices"
	"strings"

	"gascity/internal/agentcli"
)

// Environ is a process environment, "K=V".
type Environ []string

// Lookup returns the value of a variable, and whether it is set.
func (e Environ) Lookup(name string) (string, bool) {
	for _, entry := range slices.Backward(e) { // the last entry of a name counts, as in os/exec
		if value, ok := cutName(entry, name); ok {
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

// cutName returns the value of an environment entry if it has the given name.
func cutName(entry, name string) (string, bool) {
	if len(entry) > len(name) && entry[:len(name)] == name && entry[len(name)] == '=' {
		return entry[len(name)+1:], true
	}
	return "", false
}

// passed are the variables that agents get from the environment of the controller, and
// passedPrefixes are prefixes of further ones. All other variables must be set in city.toml. The
// driver sets the variables of the terminal.
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

// SocketBases returns the directories that may hold the sockets of a city's sessions, the preferred
// one first: the user's state directory, which survives a logout, and the runtime directory, which
// does not.
func (e Environ) SocketBases() []string {
	state := e.Get("XDG_STATE_HOME")
	if home := e.Get("HOME"); !filepath.IsAbs(state) && filepath.IsAbs(home) {
		state = filepath.Join(home, ".local", "state")
	}
	return []string{state, e.Get(RuntimeBase)}
}

// RuntimeOverride returns the runtime provider that GC_SESSION selects; empty if it selects none.
// In an agent's own environment the variable holds the session's name and selects nothing.
func (e Environ) RuntimeOverride() string {
	if selection := e.Get("GC_SESSION"); selection != e.Get("GC_SESSION_NAME") {
		return selection
	}
	return ""
}

// Base returns the base environment of agents: the part of the process's environment that an agent
// may see. It includes the variables that the profiles of agent CLIs name, and all others with the
// same prefixes.
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

// vendorPrefixes returns the prefixes of the agent CLIs' variables, such as "VENDOR_", from the
// names of the profiles and the variables that they read.
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
