package hookrunner

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/agentcli"
	"gascity/worker"
)

var errNoTool = errors.New("the agent CLI does not say which tool")

// decide asks the city whether the agent may use a tool, and writes the decision for the agent CLI.
// It returns the exit status of the hook.
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

// deny forbids the tool: it writes the reason to standard error and returns the exit status that
// makes the agent CLI block the tool. It also writes the word [agentcli.HookDecides] to standard
// output, which shows the script that calls this program that the decision is made; otherwise the
// script would print a reason of its own.
func (h *hook) deny(reason string) int {
	if _, err := fmt.Fprintln(h.Stderr, reason); err == nil {
		_, _ = fmt.Fprintln(h.Stdout, agentcli.HookDecides) // otherwise the script also prints its own reason
	}
	return agentcli.HookBlocked
}

// answer writes the word [agentcli.HookDecides] and the text of a decision for the agent CLI, and
// returns the exit status 0. If the text cannot be written completely, it forbids the tool.
func (h *hook) answer(text []byte) int {
	if _, err := fmt.Fprintf(h.Stdout, "%s%s\n", agentcli.HookDecides, text); err != nil {
		return h.failed(true, err)
	}
	return 0
}
