package hookrunner

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/agentcli/hooks"
	"gascity/worker"
)

var errNoTool = errors.New("the agent CLI does not say which tool")

// decide answers whether a tool may run.
func (h *hook) decide(ctx context.Context) int {
	if h.in.ToolName == "" {
		return h.failed(true, errNoTool)
	}
	d, err := h.client.Authorize(ctx, worker.Call{
		ID: h.in.ToolUseID, Tool: h.in.ToolName, Input: h.in.ToolInput, Ask: h.event.Means == hooks.Ask,
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

// refuse reports to the agent that its tool must not run, and why.
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

// deny returns the status of a tool that must not run, with the reason for the agent, and the word that
// there is one: the script adds its own where there may be none.
func (h *hook) deny(reason string) int {
	if _, err := fmt.Fprintln(h.Stderr, reason); err == nil {
		_, _ = fmt.Fprintln(h.Stdout, hooks.Decides) // else the script's reason is printed, too
	}
	return hooks.Blocked
}

// answer writes to the agent CLI, behind the word that this is a decision. What cannot be
// written in full is no answer.
func (h *hook) answer(text []byte) int {
	if _, err := fmt.Fprintf(h.Stdout, "%s%s\n", hooks.Decides, text); err != nil {
		return h.failed(true, err)
	}
	return 0
}
