package plan

import (
	"maps"
	"slices"

	"gascity/internal/agentcli"
	"gascity/internal/config"
)

// Values returns the resolved configuration with the origin of each value: the values of
// [config.City.Values], and for each agent the values that it inherits.
func Values(city *config.City, in Inputs) ([]config.Value, error) {
	profiles, err := Profiles(city, in.Profiles)
	if err != nil {
		return nil, err
	}
	values := city.Values()
	for i := range city.Agents {
		a := &city.Agents[i]
		r := newResolver(city, in, profiles, a)
		list := inheritance{resolver: r, prefix: "agents." + a.QualifiedName() + "."}
		list.all()
		if err := config.Join(r.errs); err != nil {
			return nil, err
		}
		values = append(values, list.values...)
	}
	return values, nil
}

// inheritance collects the values that an agent inherits.
type inheritance struct {
	*resolver
	prefix string
	values []config.Value
}

// add adds one value.
func (l *inheritance) add(key string, value any, origin config.Origin) {
	l.values = append(l.values, config.Value{Key: l.prefix + key, Value: config.FormatValue(value), Origin: origin})
}

// all adds all inherited values.
func (l *inheritance) all() {
	a, p := l.agent, l.profile
	template := l.city.Workspace.Origin("session_template")
	l.add("session_name", l.vars["Session"], template)
	if selection, origin, err := l.city.RuntimeFor(a, l.in.RuntimeOverride, l.in.Known); err == nil && !a.Has("session") {
		l.add("session", selection, origin)
	}
	if !a.Has("work_dir") {
		l.add("work_dir", l.vars["WorkDir"], config.DefaultOrigin())
	}
	if p.Name == "" {
		if a.StartCommand == "" {
			l.add("start_command", l.city.Workspace.StartCommand, l.city.Workspace.Origin("start_command"))
		}
		return
	}
	if !a.Has("provider") {
		l.add("provider", p.Name, l.city.Workspace.Origin("provider"))
	}
	if !a.Has("start_command") {
		l.inherit("start_command", "command", p.Command, p.Command == "")
		l.inherit("args", "args", p.Args, len(p.Args) == 0)
		l.inherit("permission_mode", "permission_mode", p.PermissionMode, p.PermissionMode == "")
	}
	l.inherit("prompt_mode", "prompt_mode", p.PromptMode, p.PromptMode == "")
	l.inherit("prompt_flag", "prompt_flag", p.PromptFlag, p.PromptFlag == "")
	l.inherit("ready_prompt_prefix", "ready_prompt_prefix", p.ReadyPromptPrefix, p.ReadyPromptPrefix == "")
	l.inherit("ready_delay_ms", "ready_delay_ms", p.ReadyDelayMs, p.ReadyDelayMs == 0)
	l.inherit("process_names", "process_names", p.ProcessNames, len(p.ProcessNames) == 0)
	l.inherit("emits_permission_warning", "emits_permission_warning", p.EmitsPermissionWarning, !p.EmitsPermissionWarning)
	l.inherit("accept_startup_dialogs", "accept_startup_dialogs", p.AcceptStartupDialogs, p.AcceptStartupDialogs == nil)
	l.env()
}

// inherit adds the profile's value of a key, unless the agent has its own value of that key. none
// is true if the profile has no value; then nothing is added.
func (l *inheritance) inherit(key, providerKey string, value any, none bool) {
	if !none && !l.agent.Has(key) {
		l.add(key, value, l.source(providerKey))
	}
}

// env adds the inherited environment variables. Credentials are masked.
func (l *inheritance) env() {
	for _, name := range slices.Sorted(maps.Keys(l.profile.Env)) {
		if _, own := l.agent.Env[name]; !own {
			l.add("env."+name, config.Mask(name, l.profile.Env[name]), l.source("env."+name))
		}
	}
}

// source returns where the value of a key in the agent's profile comes from: the nearest
// [providers.<name>] section that sets it, otherwise the built-in profile.
func (l *inheritance) source(key string) config.Origin {
	name := l.profile.Name
	for range len(l.city.Providers) + 1 {
		section, declared := l.city.Providers[name]
		if !declared {
			break
		}
		if section.Has(key) || key == "args" && section.Has("args_append") {
			return section.Position(key)
		}
		kind, base := section.BaseOf()
		if base == "" || base == name || kind == "builtin" {
			name = l.builtin(base, name)
			break
		}
		name = base
	}
	return config.Origin{Source: "profile " + name}
}

// builtin returns the name of the built-in profile that a section is based on: base, otherwise the
// section's own name if there is such a profile, otherwise the generic profile.
func (l *inheritance) builtin(base, name string) string {
	if base != "" {
		return base
	}
	if _, ok := l.in.Profiles.Lookup(name); ok {
		return name
	}
	return agentcli.Generic
}
