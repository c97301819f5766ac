package config

import (
	"slices"

	"gascity/internal/agent"
)

// RuntimeFor returns the runtime provider of an agent and the origin of that choice. In order of
// precedence: the agent's own session key; environment, the value of GC_SESSION (empty if unset);
// [session] provider; the first of known.Runtimes. A runtime provider that only routes is replaced
// by the one that it chooses, unless a is nil. For an unknown name RuntimeFor returns the name and
// an error that lists the known ones. The error has no position if the name comes from the
// environment.
func (c *City) RuntimeFor(a *Agent, environment string, known Catalog) (string, Origin, error) {
	selection, origin := c.selectRuntime(environment, known)
	transport := ""
	if a != nil && a.Session != "" {
		origin = a.Origin("session")
		if slices.Contains(known.runtime(selection).Transports, a.Session) {
			transport = a.Session
		} else {
			selection = a.Session
		}
	}
	fault := known.CheckRuntime(selection)
	if route := known.runtime(selection).Route; fault == nil && route != nil && a != nil {
		selection, fault = c.route(route, a, transport)
		if fault == nil {
			fault = known.CheckRuntime(selection)
		}
	}
	if fault == nil {
		return selection, origin, nil
	}
	placed := c.ErrorAt(origin, "%s", fault.Message)
	placed.Hint = fault.Hint
	if origin.File == "" {
		placed.File = origin.Source
	}
	return selection, origin, Errors{placed}
}

// selectRuntime returns the city's runtime provider for agents without a session key.
func (c *City) selectRuntime(environment string, known Catalog) (string, Origin) {
	switch {
	case environment != "":
		return environment, Origin{Source: "environment GC_SESSION"}
	case c.Session.Provider != "":
		return c.Session.Provider, c.Session.Origin("provider")
	case len(known.Runtimes) > 0:
		return known.Runtimes[0].Name, DefaultOrigin()
	}
	return "", DefaultOrigin()
}

// route returns the runtime provider to which a session of the agent is routed.
func (c *City) route(route func(Routing) (string, error), a *Agent, transport string) (string, *Error) {
	w := &c.Workspace
	selection, err := route(Routing{
		Session:   agent.SessionName(w.Name, a.QualifiedName(), w.SessionTemplate, nil),
		Transport: transport, Settings: &c.Session,
	})
	if err != nil {
		return "", &Error{Message: err.Error()}
	}
	return selection, nil
}

// Protocol reports whether agents speak the Agent Client Protocol with the selected runtime
// provider.
func (k Catalog) Protocol(selection string) bool { return k.runtime(selection).Protocol }

// runtime returns the runtime provider with the name of the selection, the zero value if there is
// none.
func (k Catalog) runtime(selection string) Runtime {
	for _, r := range k.Runtimes {
		if r.Name == selection {
			return r
		}
	}
	return Runtime{}
}
