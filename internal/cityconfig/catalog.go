package cityconfig

import (
	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/internal/guard"
	"gascity/provider/all"
)

// catalog returns the names that a configuration may use.
func (l *Loader) catalog() config.Catalog {
	k := config.Catalog{AgentCLIs: agentcli.Builtin().Names(), RuleSets: guard.Shipped()}
	for _, driver := range all.Drivers() {
		k.Runtimes = append(k.Runtimes, config.Runtime{
			Name: driver.Name, Argument: driver.Argument, Route: l.route(driver), Transports: driver.Transports,
			Protocol: driver.Protocol,
		})
	}
	return k
}

// route returns the routing function of a driver in the form that the configuration uses; nil if
// the driver has none.
func (l *Loader) route(driver all.Driver) func(config.Routing) (string, error) {
	if driver.Route == nil {
		return nil
	}
	return func(r config.Routing) (string, error) {
		return driver.Route(l.routing(r.Settings), r.Session, r.Transport)
	}
}

// RemoteMatch is the environment variable that overrides remote_match.
const RemoteMatch = "GC_HYBRID_REMOTE_MATCH"

// routing returns the routing settings of the city's configuration.
func (l *Loader) routing(s *config.Session) all.Routing {
	r := all.Routing{Default: s.Auto.Default, ACP: s.Auto.ACP, Local: s.Hybrid.Local, Remote: s.Hybrid.Remote, Match: s.RemoteMatch}
	if match, ok := l.Environ.Lookup(RemoteMatch); ok {
		r.Match = match
	}
	return r
}

// shimCommand returns the command that runs a shim.
func (l *Loader) shimCommand() []string { return []string{l.Executable, "shim"} }

// acp returns the settings for the Agent Client Protocol of the city's configuration.
func (l *Loader) acp(s *config.ACPSession) all.ACP {
	return all.ACP{
		Host: []string{l.Executable, "acp-host"}, HandshakeTimeout: s.HandshakeTimeout,
		BusyTimeout: s.NudgeBusyTimeout, Lines: s.OutputBufferLines,
	}
}
