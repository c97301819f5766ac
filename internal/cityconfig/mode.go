package cityconfig

import (
	"cmp"
	"context"
	"sync"

	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/proc"
	"gascity/provider/all"
)

// ModeRemarks returns a warning for each agent with a permission mode that its agent CLI, as it is
// installed on this machine, does not list in its help text. There is no warning about an agent CLI
// that is not installed, does not answer or lists no modes.
func (l *Loader) ModeRemarks(ctx context.Context, city *config.City) []*config.Error {
	if city == nil {
		return nil
	}
	profiles, err := plan.Profiles(city, agentcli.Builtin())
	if err != nil {
		return nil // already reported
	}
	found := make([]*config.Error, len(city.Agents))
	var group sync.WaitGroup
	for i := range city.Agents {
		a := &city.Agents[i]
		p, ok := profiles.Lookup(cmp.Or(a.Provider, city.Workspace.Provider))
		mode := cmp.Or(a.PermissionMode, p.PermissionMode)
		if !ok || a.StartCommand != "" || len(p.PermissionModes[mode]) < 2 || !l.runsHere(city, a) {
			continue
		}
		group.Go(func() {
			path := cmp.Or(a.Env["PATH"], p.Env["PATH"], l.Environ.Get("PATH"))
			file, err := proc.FindProgram(p.Command, city.Root, path)
			if err != nil {
				return
			}
			if why, proposal := p.RefusedMode(mode, l.Helps.Of(ctx, file, l.Environ.Base(agentcli.Builtin()), path)); why != "" {
				found[i] = city.ErrorAt(a.Position("permission_mode"), "agent %s: %s %s", a.QualifiedName(), file, why)
				found[i].Hint = proposal
			}
		})
	}
	group.Wait()
	var remarks []*config.Error
	for _, e := range found {
		if e != nil {
			remarks = append(remarks, e)
		}
	}
	return remarks
}

// runsHere reports whether the agent CLI runs on this machine in a terminal, with the permission
// mode in its command line. It returns false for an agent that speaks the Agent Client Protocol,
// because the protocol sets the mode.
func (l *Loader) runsHere(city *config.City, a *config.Agent) bool {
	selection, _, err := city.RuntimeFor(a, l.Environ.RuntimeOverride(), l.catalog())
	if err != nil {
		return false
	}
	driver, _, err := all.Find(selection)
	return err == nil && driver.Where == all.WhereLocal && !l.catalog().Protocol(selection)
}
