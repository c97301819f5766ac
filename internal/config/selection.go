package config

import (
	"slices"

	"gascity/internal/agent"
)

// RuntimeFor returns the runtime provider of an agent and where that was said.
// The agent's own session key wins over environment, the value of GC_SESSION
// (empty if unset), which wins over [session] provider, which wins over the
// first of testCatalog.Runtimes. A provider that only routes is replaced by the one that
// it chooses; without an agent it stands for itself. An unknown name is an error
// that lists the known ones, beside the name; the error has no place when it comes
// from the environment.
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

// selectRuntime returns what the city selects for agents that say nothing.
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

// Protocol reports whether agents speak the Agent Client Protocol where a selection
// runs them.
func (k Catalog) Protocol(selection string) bool { return k.runtime(selection).Protocol }

// runtime returns the runtime provider that a selection names, the zero one if
// none has the name.
func (k Catalog) runtime(selection string) Runtime {
	for _, r := range k.Runtimes {
		if r.Name == selection {
			return r
		}
	}
	return Runtime{}
}
