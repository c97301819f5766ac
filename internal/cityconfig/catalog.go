package cityconfig

import (
	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/internal/guard"
	"gascity/provider/all"
)

// catalog returns the names that a city.toml may use: the agent CLIs, the rule sets and the runtime
// providers that this version of gc has.
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

// route returns a function that chooses the runtime provider of a session, for a driver that only
// chooses between others, such as auto and hybrid. It returns nil for every other driver.
func (l *Loader) route(driver all.Driver) func(config.Routing) (string, error) {
	if driver.Route == nil {
		return nil
	}
	return func(r config.Routing) (string, error) {
		return driver.Route(l.routing(r.Settings), r.Session, r.Transport)
	}
}

// RemoteMatch is the environment variable that replaces the setting remote_match of city.toml.
const RemoteMatch = "GC_HYBRID_REMOTE_MATCH"

// routing returns the routing settings of the city's configuration.
func (l *Loader) routing(s *config.Session) all.Routing {
	r := all.Routing{Default: s.Auto.Default, ACP: s.Auto.ACP, Local: s.Hybrid.Local, Remote: s.Hybrid.Remote, Match: s.RemoteMatch}
	if match, ok := l.Environ.Lookup(RemoteMatch); ok {
		r.Match = match
	}
	return r
}

// acp returns the settings for the Agent Client Protocol of the city's configuration.
func (l *Loader) acp(s *config.ACPSession) all.ACP {
	return all.ACP{
		Host: []string{l.Executable, "acp-host"}, HandshakeTimeout: s.HandshakeTimeout,
		BusyTimeout: s.NudgeBusyTimeout, Lines: s.OutputBufferLines,
	}
}
