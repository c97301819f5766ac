package plan

import (
	"cmp"
	"maps"
	"slices"

	"gascity/internal/agentcli"
	"gascity/internal/config"
)

// Profiles returns the built-in profiles with the changes and additions from the city's
// [providers.<name>] sections. The error is a [config.Errors].
func Profiles(city *config.City, builtin *agentcli.Set) (*agentcli.Set, error) {
	p := patcher{city: city, set: builtin, state: map[string]patchState{}}
	for _, name := range slices.Sorted(maps.Keys(city.Providers)) {
		p.visit(name)
	}
	return p.set, config.Join(p.errs)
}

// patchState is the progress of applying one section.
type patchState int

const (
	patchOpen patchState = iota
	patchBegun
	patchDone
)

// patcher applies the [providers.<name>] sections in the order of their bases. A section with base
// provider:x is applied after x; one with builtin:x is applied before x.
type patcher struct {
	city  *config.City
	set   *agentcli.Set
	state map[string]patchState
	errs  []*config.Error
}

// visit applies the section [providers.<name>], after those that it is based on. A cycle of bases
// is an error.
func (p *patcher) visit(name string) {
	section, declared := p.city.Providers[name]
	switch {
	case !declared || p.state[name] == patchDone:
		return
	case p.state[name] == patchBegun:
		p.errs = append(p.errs, p.city.ErrorAt(section.Origin("base"), "the bases of the providers form a cycle at %q", name))
		return
	}
	p.state[name] = patchBegun
	for _, other := range slices.Sorted(maps.Keys(p.city.Providers)) {
		if base, original := p.base(other); original && base == name && other != name {
			p.visit(other)
		}
	}
	base, original := p.base(name)
	if !original && base != name {
		p.visit(base)
	}
	p.apply(name, base, section)
	p.state[name] = patchDone
}

// base returns the name of the profile that the section is based on. original is true if the
// section uses the built-in profile of that name, without the city's changes to it.
func (p *patcher) base(name string) (base string, original bool) {
	section := p.city.Providers[name]
	kind, base := section.BaseOf()
	_, declared := p.city.Providers[base]
	return base, base != "" && (kind == "builtin" || kind == "" && (!declared || base == name))
}

// apply adds the profile that the section defines to the set, under the given name. Without a base
// it changes the profile of the same name.
func (p *patcher) apply(name, base string, section config.Provider) {
	inherited := p.set.Resolve(cmp.Or(base, name), agentcli.Generic)
	next, err := p.set.With(name, patchOf(base, section, inherited))
	if err != nil {
		p.errs = append(p.errs, p.city.ErrorAt(section.Header(), "%v", err))
		return
	}
	p.set = next
}

// patchOf returns what a [providers.<name>] section changes in the profile of an agent CLI. A key
// that is not in the section changes nothing.
func patchOf(base string, s config.Provider, inherited agentcli.Profile) agentcli.Patch {
	patch := agentcli.Patch{
		Base:                   base,
		Command:                valueIfWritten(s.Keys, "command", s.Command),
		Env:                    s.Env,
		PromptMode:             valueIfWritten(s.Keys, "prompt_mode", agentcli.PromptMode(s.PromptMode)),
		PromptFlag:             valueIfWritten(s.Keys, "prompt_flag", s.PromptFlag),
		ReadyPromptPrefix:      valueIfWritten(s.Keys, "ready_prompt_prefix", s.ReadyPromptPrefix),
		ReadyDelayMs:           valueIfWritten(s.Keys, "ready_delay_ms", s.ReadyDelayMs),
		ProcessNames:           s.ProcessNames,
		EmitsPermissionWarning: valueIfWritten(s.Keys, "emits_permission_warning", s.EmitsPermissionWarning),
		AcceptStartupDialogs:   s.AcceptStartupDialogs,
		SupportsHooks:          valueIfWritten(s.Keys, "supports_hooks", s.SupportsHooks),
		InstructionsFile:       valueIfWritten(s.Keys, "instructions_file", s.InstructionsFile),
		PathCheck:              valueIfWritten(s.Keys, "path_check", s.PathCheck),
		ResumeFlag:             valueIfWritten(s.Keys, "resume_flag", s.ResumeFlag),
		ResumeStyle:            valueIfWritten(s.Keys, "resume_style", agentcli.ResumeStyle(s.ResumeStyle)),
		SessionIDFlag:          valueIfWritten(s.Keys, "session_id_flag", s.SessionIDFlag),
		PermissionModes:        s.PermissionModes,
		PermissionMode:         valueIfWritten(s.Keys, "permission_mode", s.PermissionMode),
		UpstreamEnv:            s.UpstreamEnv,
		ACPCommand:             valueIfWritten(s.Keys, "acp_command", s.ACPCommand),
		ACPArgs:                s.ACPArgs,
	}
	if s.Has("args") || len(s.ArgsAppend) > 0 {
		args := inherited.Args
		if s.Has("args") {
			args = s.Args
		}
		patch.Args = append(slices.Concat([]string{}, args), s.ArgsAppend...)
	}
	return patch
}

// valueIfWritten returns a pointer to value if the key is written, else nil.
func valueIfWritten[T any](keys config.Keys, key string, value T) *T {
	if !keys.Has(key) {
		return nil
	}
	return &value
}
