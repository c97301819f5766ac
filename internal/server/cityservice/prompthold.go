package cityservice

import (
	"cmp"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/domain/session"
)

// PromptHold returns why a session gets no prompts: its budget, its guard, or a credential. It
// returns an empty string if it may get them.
func (e *Engines) PromptHold(v session.Snapshot) string {
	return cmp.Or(e.Budgets.PromptHold(v), e.guardHold(v), e.Credentials.PromptHold(v.Session))
}

// guardHold returns why the guard holds back the prompts of a session; empty if it does not. A
// session gets no prompts until it has shown that it asks the guard. Exception: an agent CLI that
// runs its first hook only during a turn gets one prompt, because without a turn it could not ask.
func (e *Engines) guardHold(v session.Snapshot) string {
	why := e.Workers.PromptHold(v)
	if why == "" || e.Prompts.Prompted(v.Session, v.Instance) || !e.isBeforeFirstHook(v) {
		return why
	}
	return ""
}

// isBeforeFirstHook reports whether the agent CLI runs its first hook only during a turn, and was
// started without a prompt, so that it has had no turn yet.
func (e *Engines) isBeforeFirstHook(v session.Snapshot) bool {
	cli, known := e.hooksOf(v)
	return known && cli.Late && !e.Opens(v)
}

// Opens reports whether the agent was started with a prompt in its command line whose turn its
// hooks report.
func (e *Engines) Opens(v session.Snapshot) bool {
	_, known := e.hooksOf(v)
	return known && !v.Conversation.IsResumed() && e.Desired(v.Agent).Config.PromptSuffix != ""
}

// hooksOf returns the hooks of the agent CLI of a session. It returns false if the CLI has no known
// hooks.
func (e *Engines) hooksOf(v session.Snapshot) (agentcli.Hooks, bool) {
	return agentcli.LookupHooks(e.Desired(v.Agent).Config.Env[agentcli.HooksVariable])
}

// addGuard sets in a the guard state of a running agent and why it gets no prompts. view returns
// the snapshot of a session.
func (e *Engines) addGuard(a *client.Agent, view func(string) (session.Snapshot, error)) {
	if a.State != client.StateRunning {
		return
	}
	a.Guard, a.GuardDetail = e.Workers.GuardOf(a.Session)
	if v, err := view(a.Session); err == nil {
		a.Held = cmp.Or(a.Held, e.guardHold(v), e.Credentials.PromptHold(v.Session))
	}
}
