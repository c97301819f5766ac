package config

// RuntimeFor returns the runtime provider of an agent and where that was said.
// The agent's own session key wins over environment, the value of GC_SESSION
// (empty if unset), which wins over [session] provider, which wins over the
// first of known.Runtimes. An unknown name is an error that lists the known
// ones; it has no place when it comes from the environment.
func (c *City) RuntimeFor(a *Agent, environment string, known Known) (string, Origin, error) {
	selection, origin := c.selectRuntime(a, environment, known)
	err := known.CheckRuntime(selection)
	if err == nil {
		return selection, origin, nil
	}
	placed := c.ErrorAt(origin, "%s", err.Message)
	placed.Hint = err.Hint
	if origin.File == "" {
		placed.File = origin.Source
	}
	return "", origin, Errors{placed}
}

func (c *City) selectRuntime(a *Agent, environment string, known Known) (string, Origin) {
	switch {
	case a != nil && a.Session != "":
		return a.Session, a.Origin("session")
	case environment != "":
		return environment, Origin{Source: "environment GC_SESSION"}
	case c.Session.Provider != "":
		return c.Session.Provider, c.Session.Origin("provider")
	case len(known.Runtimes) > 0:
		return known.Runtimes[0].Name, DefaultOrigin()
	}
	return "", DefaultOrigin()
}
