package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"gascity/internal/agentcli"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
)

// unaskedAgent is an agent whose agent CLI runs its tools without asking a person.
type unaskedAgent struct {
	agent   *config.Agent
	profile agentcli.Profile
}

// unasked returns the agents of a city whose agent CLIs run their tools without asking.
func unasked(city *config.City) ([]unaskedAgent, error) {
	profiles, err := plan.Profiles(city, agentcli.Builtin())
	if err != nil {
		return nil, err
	}
	var out []unaskedAgent
	for i := range city.Agents {
		a := &city.Agents[i]
		name := a.Provider
		if name == "" {
			name = city.Workspace.Provider
		}
		p, ok := profiles.Lookup(name)
		if ok && a.StartCommand == "" && p.SkipsPermissions(a.PermissionMode, a.Env) {
			out = append(out, unaskedAgent{a, p})
		}
	}
	return out, nil
}

// mode is the agent's permission mode.
func (u unaskedAgent) mode() string {
	if u.agent.PermissionMode != "" {
		return u.agent.PermissionMode
	}
	return u.profile.PermissionMode
}

// refusedAsRoot returns a remark for each agent whose agent CLI does not start as this user.
func (d *Daemon) refusedAsRoot(city *config.City, agents []unaskedAgent) []*config.Error {
	if os.Geteuid() != 0 {
		return nil
	}
	var remarks []*config.Error
	for _, u := range agents {
		accepts := u.profile.AsRootEnv
		set := accepts != "" && cmp.Or(u.agent.Env[accepts], u.profile.Env[accepts], d.env.get(accepts)) != ""
		if set || !slices.Contains(u.profile.RefusedAsRoot, u.mode()) {
			continue
		}
		remark := city.ErrorAt(u.agent.Position("permission_mode"), "agent %s: %s refuses to start as root with permission_mode = %q", u.agent.QualifiedName(), u.profile.Name, u.mode())
		remark.Hint = fmt.Sprintf("set permission_mode = %q, or run gc as another user", u.profile.AskingMode)
		remarks = append(remarks, remark)
	}
	return remarks
}

// unaskedWords says which agents run their tools without asking a person, and what decides
// instead; empty if none does.
func (r *loadedConfig) unaskedWords() string {
	if len(r.unasked) == 0 {
		return ""
	}
	names := make([]string, 0, len(r.unasked))
	for _, u := range r.unasked {
		names = append(names, u.agent.QualifiedName())
	}
	verb, rest := "runs its", "the [guard] rules of city.toml decide instead"
	if len(names) > 1 {
		verb = "run their"
	}
	if !r.rules.Guarded() {
		rest = "no [guard] rules check them either"
	}
	return fmt.Sprintf("%s %s tools without asking a person (all permissions skipped); %s", strings.Join(names, ", "), verb, rest)
}

// permissions reports which agents run their tools without asking.
func (x *doctorRun) permissions() {
	const check = "permissions"
	words := x.r.unaskedWords()
	switch {
	case words == "":
	case x.r.rules.Guarded():
		x.ok(check, "%s", words)
	default:
		x.warn(check, words, askingRemedy(x.r.unasked))
	}
}

// askingRemedy says how the agents come to ask a person.
func askingRemedy(agents []unaskedAgent) string {
	const guard = `set [guard] sets = ["dangerous-command", "protected-branch", "secrets-reading"]`
	for _, u := range agents {
		if u.profile.AskingMode != "" {
			return fmt.Sprintf("set permission_mode = %q for %s to be asked; %s", u.profile.AskingMode, u.agent.QualifiedName(), guard)
		}
	}
	return guard
}

// RefusedModes returns a line for each agent whose installed agent CLI does not accept its
// permission mode.
func (d *Daemon) RefusedModes(ctx context.Context, root string) ([]string, error) {
	r, err := d.read(ctx, root)
	if err != nil {
		return nil, missing(root, err)
	}
	var lines []string
	for _, e := range d.refusedModes(ctx, r.city) {
		lines = append(lines, e.Message+"; "+e.Hint)
	}
	return lines, nil
}

// Unasked returns the line that gc start shows, see [loadedConfig.unaskedWords].
func (d *Daemon) Unasked(ctx context.Context, root string) (string, error) {
	r, err := d.read(ctx, root)
	if err != nil {
		return "", missing(root, err)
	}
	return r.unaskedWords(), nil
}

var _ cli.Configs = (*Daemon)(nil)
