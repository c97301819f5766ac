package config

import (
	"slices"

	"gascity/internal/agent"
)

// RuntimeFor returns the runtime provider of an agent and where that choice comes from. The first
// of these that is set counts: the agent's key session; environment, which is the value of
// GC_SESSION; the key provider of [session]; the first of known.Runtimes. If the result only routes
// sessions to other runtime providers, RuntimeFor returns the one that it chooses for the agent; if
// a is nil, it returns the result itself. For an unknown name, it returns the name and an error
// that lists the known ones. The error has no position if the name comes from the environment.
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

// selectRuntime returns the runtime provider of agents without the key session, and where that
// choice comes from.
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

// route returns the runtime provider that a function of the type [Runtime.Route] chooses for the
// agent.
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

// Protocol reports whether agents of the selected runtime provider speak the Agent Client Protocol.
func (k Catalog) Protocol(selection string) bool { return k.runtime(selection).Protocol }

// runtime returns the runtime provider that a selection, a name with or without an argument, means.
// If there is none, it returns the zero value.
func (k Catalog) runtime(selection string) Runtime {
	for _, r := range k.Runtimes {
		if r.Name == selection {
			return r
		}
	}
	return Runtime{}
}
