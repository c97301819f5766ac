package cityservice

import (
	"cmp"

	"gascity/client"
	"gascity/internal/agentcli/hooks"
	"gascity/internal/domain/session"
)

// PromptHold returns why a session gets no prompts: its budget, its guard, or a credential.
func (e *Engines) PromptHold(v session.Snapshot) string {
	return cmp.Or(e.Budgets.PromptHold(v), e.unproved(v), e.Credentials.PromptHold(v.Session))
}

// unproved returns why a session gets no prompts because of its guard. One that can only show
// with a prompt that it asks, and was started without one, gets its first, and no other
// until it has shown it.
func (e *Engines) unproved(v session.Snapshot) string {
	why := e.Workers.PromptHold(v)
	if why == "" || e.Prompts.Prompted(v.Session, v.Instance) || !e.silent(v) {
		return why
	}
	return ""
}

// silent reports whether an agent CLI calls no hook yet: it was started without a prompt.
func (e *Engines) silent(v session.Snapshot) bool {
	cli, known := e.hooksOf(v)
	return known && cli.Late && !e.Opens(v)
}

// Opens reports whether an agent CLI begins with the prompt of its command lineand reports
// it by hooks.
func (e *Engines) Opens(v session.Snapshot) bool {
	_, known := e.hooksOf(v)
	return known && !v.Conversation.IsResumed() && e.Desired(v.Agent).Config.PromptSuffix != ""
}

func (e *Engines) hooksOf(v session.Snapshot) (hooks.CLI, bool) {
	return hooks.Lookup(e.Desired(v.Agent).Config.Env[hooks.Variable])
}

// guarded adds to what is shown of an agent what is known of its guard.
func (e *Engines) guarded(a *client.Agent, view func(string) (session.Snapshot, error)) {
	if a.State != client.StateRunning {
		return
	}
	a.Guard, a.GuardDetail = e.Workers.GuardOf(a.Session)
	if v, err := view(a.Session); err == nil {
		a.Held = cmp.Or(a.Held, e.unproved(v), e.Credentials.PromptHold(v.Session))
	}
}
