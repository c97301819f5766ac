package cityconfig

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
)

// unaskedAgent is an agent whose agent CLI runs its tools without asking a person.
type unaskedAgent struct {
	agent   *config.Agent
	profile agentcli.Profile
}

// findUnasked returns the agents of a city whose agent CLIs use their tools without asking a
// person.
func findUnasked(city *config.City) ([]unaskedAgent, error) {
	profiles, err := plan.Profiles(city, agentcli.Builtin())
	if err != nil {
		return nil, err
	}
	var out []unaskedAgent
	for i := range city.Agents {
		a := &city.Agents[i]
		p, ok := profiles.Lookup(cmp.Or(a.Provider, city.Workspace.Provider))
		if ok && a.StartCommand == "" && p.SkipsPermissions(a.PermissionMode, a.Env) {
			out = append(out, unaskedAgent{a, p})
		}
	}
	return out, nil
}

// mode returns the agent's permission mode.
func (u unaskedAgent) mode() string {
	return cmp.Or(u.agent.PermissionMode, u.profile.PermissionMode)
}

// refusedAsRoot returns a warning for each of the agents whose agent CLI refuses to run without
// asking when the user is root, if this process runs as root.
func (l *Loader) refusedAsRoot(city *config.City, agents []unaskedAgent) []*config.Error {
	if os.Geteuid() != 0 {
		return nil
	}
	var remarks []*config.Error
	for _, u := range agents {
		accepts := u.profile.AsRootEnv
		set := accepts != "" && cmp.Or(u.agent.Env[accepts], u.profile.Env[accepts], l.Environ.Get(accepts)) != ""
		if set || !slices.Contains(u.profile.RefusedAsRoot, u.mode()) {
			continue
		}
		remark := city.ErrorAt(u.agent.Position("permission_mode"), "agent %s: %s refuses to start as root with permission_mode = %q", u.agent.QualifiedName(), u.profile.Name, u.mode())
		remark.Hint = fmt.Sprintf("set permission_mode = %q, or run gc as another user", u.profile.AskingMode)
		remarks = append(remarks, remark)
	}
	return remarks
}

// UnaskedText returns a message for people that lists the agents that use their tools without
// asking a person, and says what decides about those tools. It is empty if every agent asks.
func (r *Loaded) UnaskedText() string {
	if len(r.unasked) == 0 {
		return ""
	}
	names := make([]string, 0, len(r.unasked))
	for _, u := range r.unasked {
		names = append(names, u.agent.QualifiedName())
	}
	verb, whose := "runs", "its"
	if len(names) > 1 {
		verb, whose = "run", "their"
	}
	rules := "the [guard] rules of city.toml decide instead of a person"
	if !r.Rules.Guarded() {
		rules = "no [guard] rules of city.toml check them either"
	}
	return fmt.Sprintf("%s %s %s tools without asking a person (all permissions skipped); %s", strings.Join(names, ", "), verb, whose, rules)
}

// AskingRemedy returns the settings of city.toml with which the agents in [Loaded.UnaskedText] ask
// a person or are checked by the guard.
func (r *Loaded) AskingRemedy() string {
	const guard = `set [guard] sets = ["dangerous-command", "protected-branch", "secrets-reading"]`
	for _, u := range r.unasked {
		if u.profile.AskingMode != "" {
			return fmt.Sprintf("set permission_mode = %q for %s to be asked; %s", u.profile.AskingMode, u.agent.QualifiedName(), guard)
		}
	}
	return guard
}

// RefusedModes returns the warnings of [Loader.ModeRemarks] for the city at root, one line for each
// agent.
func (l *Loader) RefusedModes(ctx context.Context, root string) ([]string, error) {
	r, err := l.Load(ctx, root)
	if err != nil {
		return nil, ExplainMissing(root, err)
	}
	var lines []string
	for _, e := range l.ModeRemarks(ctx, r.City) {
		lines = append(lines, e.Message+"; "+e.Hint)
	}
	return lines, nil
}

// Unasked returns the message of [Loaded.UnaskedText] for the city at root, which gc start shows.
func (l *Loader) Unasked(ctx context.Context, root string) (string, error) {
	r, err := l.Load(ctx, root)
	if err != nil {
		return "", ExplainMissing(root, err)
	}
	return r.UnaskedText(), nil
}
