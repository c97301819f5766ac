package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/runtime"
)

// prompt sets the fields of cfg that contain the agent's first prompt (PromptSuffix or the
// beginning of Nudge, depending on the prompt mode) and its nudge, and r.parts.
func (r *resolver) prompt(cfg *runtime.Config) {
	a := r.agent
	cfg.Nudge = a.Nudge
	r.parts = ContextParts{Agent: a.QualifiedName(), Task: a.Nudge}
	text := r.promptText()
	mode, flag := r.promptMode()
	if mode == config.PromptWorker { // the worker receives r.parts as sections of context
		cfg.Nudge = ""
		return
	}
	if text != "" {
		switch mode {
		case config.PromptNone:
			cfg.Nudge = join(text, a.Nudge)
			if cfg.Lifecycle == runtime.LifecycleOneShot && a.PromptTemplate == "" {
				cfg.Nudge = a.Nudge // a prompt that has only the beacon, the line with city, agent and time, is not sent
			}
		case config.PromptFlag:
			if flag == "" {
				r.fail(a.Position("prompt_mode"), "prompt_mode is flag, but neither the agent nor its provider has a prompt_flag")
			}
			fallthrough
		default:
			cfg.PromptFlag = flag
			quoted, err := quote(text)
			if err != nil {
				r.fail(a.Position("prompt_template"), "the prompt cannot be an argument: %v", err)
			}
			cfg.PromptSuffix = quoted
		}
	}
	if cfg.Lifecycle == runtime.LifecycleOneShot && cfg.Nudge != "" {
		r.fail(a.Position("lifecycle"), "a one_shot command accepts no typed prompt, so its prompt would be lost; use prompt_mode arg or flag")
	}
}

// promptMode returns the prompt mode and, for the mode flag, the flag.
func (r *resolver) promptMode() (config.PromptMode, string) {
	a := r.agent
	mode := cmp.Or(pick(a, "prompt_mode", a.PromptMode, config.PromptMode(r.profile.PromptMode)), config.PromptNone)
	if mode != config.PromptFlag {
		return mode, ""
	}
	return mode, pick(a, "prompt_flag", a.PromptFlag, r.profile.PromptFlag)
}

// promptText returns the text of the first prompt: the beacon, which is a line with city, agent and
// time, and the rendered prompt template. An agent without a template gets only the beacon. A
// program that is not a known agent CLI and has no template gets nothing, because a shell would run
// the text as a command.
func (r *resolver) promptText() string {
	a := r.agent
	family := r.profile.Family
	if a.PromptTemplate == "" && (family == "" || family == agentcli.Generic) {
		return ""
	}
	r.parts.Identity = fmt.Sprintf("[%s] %s", r.vars["City"], r.vars["Agent"])
	beacon := runtime.FormatBeaconAt(r.vars["City"], r.vars["Agent"], !r.isPrimedByHooks(), r.in.Now)
	if a.PromptTemplate == "" {
		return beacon
	}
	r.parts.Role = r.render()
	return join(beacon, r.parts.Role)
}

// isPrimedByHooks reports whether hooks of the agent CLI add the startup context to the
// conversation, so that the agent need not run gc prime.
func (r *resolver) isPrimedByHooks() bool {
	if installed := r.agent.HooksInstalled; installed != nil {
		return *installed
	}
	if cli, ok := agentcli.LookupHooks(r.hooksFamily()); ok && cli.InjectsContext(agentcli.HookSourceStartup) {
		return true
	}
	names := r.installedHooks()
	return r.profile.SupportsHooks && (slices.Contains(names, r.profile.Name) || slices.Contains(names, r.profile.Family))
}

// hooksFamily returns the agent CLI whose hooks gc installs when the agent starts; empty if gc
// installs none. With install_agent_hooks, gc installs hooks only if the list names the agent CLI.
// Without it, gc installs them if the command is the agent CLI's own, because another command may
// not support the arguments.
func (r *resolver) hooksFamily() string {
	p := r.profile
	if _, known := agentcli.LookupHooks(p.Family); !known || !p.SupportsHooks {
		return ""
	}
	if r.agent.Has("install_agent_hooks") || r.city.Workspace.Has("install_agent_hooks") {
		if names := r.installedHooks(); !slices.Contains(names, p.Name) && !slices.Contains(names, p.Family) {
			return ""
		}
		return p.Family
	}
	section := r.city.Providers[p.Name]
	if r.agent.StartCommand != "" || section.Has("command") {
		return ""
	}
	return p.Family
}

// channel returns the family of the agent CLI if prompts go through its native channel,
// [agentcli.ChannelTyped] if the configuration asks for typed prompts, and "" if no native channel
// is possible.
func (r *resolver) channel() string {
	switch why := r.typedReason(); {
	case why == "":
		return r.profile.Family
	case r.agent.Channel == config.ChannelTyped:
		return agentcli.ChannelTyped
	}
	return ""
}

// typedReason returns why the agent's prompts are typed into its terminal, empty if they use the
// agent CLI's native channel. The native channel requires the agent CLI's own command.
func (r *resolver) typedReason() string {
	section := r.city.Providers[r.profile.Name]
	resume, _ := r.resumeCommand()
	switch {
	case r.agent.Channel == config.ChannelTyped:
		return `channel = "typed" in city.toml`
	case agentcli.NativeChannel(r.profile.Family) == "":
		return "its agent CLI has no native channel that gc can use"
	case r.agent.StartCommand != "" || section.Has("command") || resume != "":
		return "its command is not the agent CLI's own"
	case r.hooksFamily() == "":
		return "its hooks are not installed"
	case r.agent.Lifecycle == config.OneShot && r.isRelayed():
		return "it is started for one prompt"
	}
	return ""
}

// isRelayed reports whether the native channel is a separate program that runs beside the agent
// CLI.
func (r *resolver) isRelayed() bool {
	_, relayed := agentcli.ChannelOf(r.profile.Family)
	return relayed
}

// render returns the rendered prompt template. The template can use the agent's own variables by
// name, except credentials.
func (r *resolver) render() string {
	a := r.agent
	path := r.city.Abs(a.PromptTemplate)
	data, err := r.in.ReadFile(path)
	if err != nil {
		r.fail(a.Position("prompt_template"), "cannot read prompt_template: %v", err)
		return ""
	}
	vars := maps.Clone(r.vars)
	for name, value := range a.Env {
		if _, taken := vars[name]; !taken && !runtime.CredentialName(name) {
			vars[name] = value
		}
	}
	text, failure := execute(string(data), vars)
	if failure != nil {
		failure.File = path
		if lines := strings.Split(string(data), "\n"); failure.Line >= 1 && failure.Line <= len(lines) {
			failure.Source = strings.TrimSuffix(lines[failure.Line-1], "\r")
		}
		r.errs = append(r.errs, failure)
	}
	return text
}

// join returns two texts with a blank line between them. If one is empty, it returns the other.
func join(first, second string) string {
	first, second = strings.TrimRight(first, "\r\n"), strings.TrimRight(second, "\r\n")
	if first == "" || second == "" {
		return first + second
	}
	return first + "\n\n" + second
}
