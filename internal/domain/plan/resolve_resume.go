package plan

import (
	"maps"
	"strings"

	"gascity/internal/agentcli"
	"gascity/internal/config"
)

// resume returns how a conversation of the agent is begun and resumed. An agent with its own
// start_command can be resumed only by its resume_command. protocol is true if the agent speaks the
// Agent Client Protocol: then the driver resumes the conversation, not a command.
func (r *resolver) resume(protocol bool) Resume {
	a, p := r.agent, r.profile
	resume := Resume{Fresh: a.WakeMode == config.WakeFresh, Nudge: a.Nudge, Mode: a.PermissionMode}
	if protocol {
		resume.Protocol, resume.Mode = true, ""
		if r.usesACP && p.ACPResumeFlag != "" {
			resume.Again = r.command() + " " + p.ACPResumeFlag + " " + ConversationMark
		}
		return resume
	}
	fromProfile := a.StartCommand == "" && p.Name != ""
	all := r.command()
	if fromProfile && p.SessionIDFlag != "" {
		resume.New = all + " " + p.SessionIDFlag + " " + ConversationMark
	}
	if own, at := r.resumeCommand(); own != "" {
		resume.Again = r.expandResume(at, own)
		return resume
	}
	switch {
	case !fromProfile || p.ResumeFlag == "":
	case p.ResumeStyle == agentcli.ResumeByFlag:
		resume.Again = all + " " + p.ResumeFlag + " " + ConversationMark
	case p.ResumeStyle == agentcli.ResumeBySubcommand:
		resume.Again = strings.Join(append([]string{r.program, p.ResumeFlag, ConversationMark}, r.args...), " ")
	}
	return resume
}

// resumeCommand returns the resume_command of the agent, or of its [providers.<name>] section, and
// its position in city.toml. That of a section applies only to an agent without start_command.
func (r *resolver) resumeCommand() (string, config.Origin) {
	a := r.agent
	if a.ResumeCommand != "" || a.StartCommand != "" {
		return a.ResumeCommand, a.Origin("resume_command")
	}
	name := r.profile.Name
	for range len(r.city.Providers) {
		section, declared := r.city.Providers[name]
		if !declared || section.Has("resume_command") {
			return section.ResumeCommand, section.Origin("resume_command")
		}
		kind, base := section.BaseOf()
		if kind == "builtin" || base == "" || base == name {
			break
		}
		name = base
	}
	return "", config.Origin{}
}

// expandResume expands the template of a resume_command. Only here a template can use
// {{.SessionKey}}, the id of the conversation; a command without it is an error.
func (r *resolver) expandResume(at config.Origin, text string) string {
	previous, errs := r.vars, len(r.errs)
	r.vars = maps.Clone(previous)
	r.vars["SessionKey"] = ConversationMark
	out := r.expand(at, "resume_command", text)
	r.vars = previous
	if len(r.errs) == errs && !strings.Contains(out, ConversationMark) {
		e := r.city.ErrorAt(at, "resume_command does not say which conversation it continues")
		e.Hint = "write {{.SessionKey}} where its id goes"
		r.errs = append(r.errs, e)
	}
	return out
}
