package hookrunner

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/agentcli"
	"gascity/worker"
)

var errNoTool = errors.New("the agent CLI does not say which tool")

// decide asks the city whether a tool may run, and answers the agent CLI. It returns the exit
// status of the hook.
func (h *hook) decide(ctx context.Context) int {
	if h.in.ToolName == "" {
		return h.failed(true, errNoTool)
	}
	d, err := h.client.Authorize(ctx, worker.Call{
		ID: h.in.ToolUseID, Tool: h.in.ToolName, Input: h.in.ToolInput, Ask: h.event.Means == agentcli.HookAsk,
		Context: map[string]string{"cwd": h.in.Cwd},
	})
	if err != nil {
		return h.failed(true, err)
	}
	if !d.Allowed {
		return h.refuse(d)
	}
	answer, err := h.cli.Allowed(h.event)
	if d.Interaction != "" {
		answer, err = h.cli.AllowedByPerson(h.event, d.Reason)
	}
	if err != nil {
		return h.failed(true, err)
	}
	return h.answer(answer)
}

// refuse answers that the tool must not run, with the reason, and returns the exit status of the
// hook.
func (h *hook) refuse(d worker.Decision) int {
	reason := d.Reason
	if d.Rule != "" {
		reason += " (rule " + d.Rule + ")"
	}
	if answer, ok := h.cli.Refused(h.event, reason); ok {
		return h.answer(answer)
	}
	return h.deny(reason)
}

// deny returns the exit status for a tool that must not run. It writes the reason to standard error
// and [agentcli.HookDecides] to standard output. Without that word the script would print a reason of its
// own.
func (h *hook) deny(reason string) int {
	if _, err := fmt.Fprintln(h.Stderr, reason); err == nil {
		_, _ = fmt.Fprintln(h.Stdout, agentcli.HookDecides) // otherwise the script also prints its own reason
	}
	return agentcli.HookBlocked
}

// answer writes a decision to the agent CLI after the word [agentcli.HookDecides]. If the text cannot be
// written completely, the decision fails.
func (h *hook) answer(text []byte) int {
	if _, err := fmt.Fprintf(h.Stdout, "%s%s\n", agentcli.HookDecides, text); err != nil {
		return h.failed(true, err)
	}
	return 0
}
