package app

import (
	"path/filepath"
	"slices"
	"strings"

	"gascity/internal/agentcli"
)

// passed are the variables that agents get from the environment of the
// controller, and passedPrefixes the families. Everything else is written in
// baseCity.toml. The terminal's own variables are the driver's.
var (
	passed = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "SSH_AUTH_SOCK",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "__CF_USER_TEXT_ENCODING",
	}
	passedPrefixes = []string{"LC_", "XDG_"}
)

// runtimeBase is the variable that says where a user's sockets belong until the last logout.
const runtimeBase = "XDG_RUNTIME_DIR"

// socketBases are the folders in which the sockets of a city's sessions may be, the best first: the
// user's state, which survives a logout, and then what the login manager removes after one.
func (e environment) socketBases() []string {
	state := e.get("XDG_STATE_HOME")
	if home := e.get("HOME"); !filepath.IsAbs(state) && filepath.IsAbs(home) {
		state = filepath.Join(home, ".local", "state")
	}
	return []string{state, e.get(runtimeBase)}
}

// runtimeOverride returns the runtime provider that GC_SESSION selects. In an
// agent's own environment the variable is the name of its session, and selects
// nothing.
func (e environment) runtimeOverride() string {
	if selection := e.get("GC_SESSION"); selection != e.get("GC_SESSION_NAME") {
		return selection
	}
	return ""
}

// base returns the base environment of agents: what of the process's own
// environment an agent may see. The variables of agent CLIs are those that their
// profiles name, with all that begin like them.
func (e environment) base(profiles *agentcli.Set) []string {
	prefixes := slices.Concat(passedPrefixes, vendorPrefixes(profiles))
	var out []string
	for _, entry := range e {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(passed, name) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out = append(out, name+"="+e.get(name)) // the last one of a name wins
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// vendorPrefixes returns how the variables of the agent CLIs begin, "VENDOR_":
// from the profiles' names and from the variables that they read.
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
