package hookrunner

import (
	"context"
	"errors"

	"gascity/internal/agentcli"
	"gascity/internal/agentcli/channel"
	"gascity/worker"
)

// reportEvent reports the event of the hook to the city: the start or end of a conversation, of a
// turn or of a tool. It also gives the agent its context where the event allows that.
func (h *hook) reportEvent(ctx context.Context) error {
	if h.in.AgentID != "" && h.event.Means != agentcli.HookTool {
		return nil // a turn of a sub-agent is not a turn of the agent
	}
	switch h.event.Means {
	case agentcli.HookBegin:
		return h.begin(ctx)
	case agentcli.HookPrompt:
		injected := h.injectPending(ctx)
		return errors.Join(injected, h.report(ctx, worker.Busy, worker.Detail{PromptHash: worker.PromptHash(h.cli.PromptText(h.in))}))
	case agentcli.HookRequest:
		return h.reportRequest(ctx)
	case agentcli.HookTurn:
		err := h.report(ctx, worker.Idle, worker.Detail{Reason: worker.TurnDone, Background: h.in.BackgroundTasks()})
		return errors.Join(err, h.reportUsageLater(ctx))
	case agentcli.HookFailure:
		err := h.report(ctx, worker.Idle, worker.Detail{Reason: worker.TurnFailed})
		_, sent := h.client.Telemetry(ctx, worker.TelemetryEvent{Type: worker.Failure, Timestamp: h.began, Message: h.in.ErrorText()})
		return errors.Join(err, sent, h.reportUsageLater(ctx))
	case agentcli.HookInterrupt:
		err := h.report(ctx, worker.Idle, worker.Detail{Reason: worker.TurnInterrupted})
		return errors.Join(err, h.reportUsageLater(ctx))
	case agentcli.HookTool:
		_, err := h.client.Telemetry(ctx, worker.TelemetryEvent{
			Type: worker.ToolUsed, Timestamp: h.began, ToolsCalled: []worker.ToolCall{{Name: h.in.ToolName, Success: true, CallID: h.in.ToolUseID}},
		})
		return err
	case agentcli.HookCompacted:
		if h.cli.InjectsContext(agentcli.HookSourceCompact) {
			return nil // a start event follows and reports it
		}
		return h.compacted(ctx)
	case agentcli.HookNotice:
		if h.in.Notice == agentcli.HookNoticeIdle { // covers the end of a turn that no hook reported
			return h.report(ctx, worker.Idle, worker.Detail{})
		}
	case agentcli.HookEnd:
		return h.end(ctx)
	case agentcli.HookGuard, agentcli.HookAsk:
	}
	return nil
}

// begin handles the start of a conversation, or its continuation after a compaction. It gives the
// agent its context first and then reports the conversation; in the other order, the city would
// send the context as a prompt. After a compaction it reports only the compaction, because the turn
// continues.
func (h *hook) begin(ctx context.Context) error {
	contextErr := errors.Join(h.skipCompactions(), h.injectContext(ctx, h.in.Source))
	if h.in.Source == agentcli.HookSourceCompact {
		if h.cli.InjectsContext(agentcli.HookSourceCompact) {
			contextErr = errors.Join(contextErr, h.compacted(ctx))
		}
		return contextErr
	}
	return errors.Join(contextErr, h.opened(ctx))
}

// compacted reports to the city that the conversation was compacted.
func (h *hook) compacted(ctx context.Context) error {
	_, err := h.client.Telemetry(ctx, worker.TelemetryEvent{Type: worker.Compacted, Timestamp: h.began})
	if err == nil && h.cli.InjectsContext(agentcli.HookSourceCompact) {
		err = h.answered()
	}
	return err
}

// opened reports to the city that a conversation has begun and accepts prompts.
func (h *hook) opened(ctx context.Context) error {
	if h.in.Source == agentcli.HookSourceResume {
		if err := h.skipPast(); err != nil {
			return err
		}
	}
	detail := worker.Detail{Agent: h.cli.Name}
	var proved error // without this proof, a city with a guard sends no prompts
	if h.in.Source != agentcli.HookSourceClear {
		begun := h.saveStartOffsets()
		if h.Getenv(channel.VariableServed) == "" { // otherwise the channel program has reported the start
			if err := h.report(ctx, worker.Started, detail); err != nil {
				return err
			}
		}
		proved = errors.Join(begun, h.client.Prove(ctx))
	}
	return errors.Join(h.report(ctx, worker.Ready, worker.Detail{}), proved)
}

// end reports the end of a conversation: its token usage and, unless another conversation follows
// in the same agent, that the agent stops.
func (h *hook) end(ctx context.Context) error {
	err := h.reportUsage(ctx)
	if h.in.Reason == agentcli.HookSourceClear || h.in.Reason == agentcli.HookSourceResume {
		return err
	}
	return errors.Join(err, h.report(ctx, worker.Stopping, worker.Detail{Reason: h.in.Reason}))
}

// report sends a transition of the agent to the city, with the source hook and the ID of the
// conversation.
func (h *hook) report(ctx context.Context, event worker.Transition, detail worker.Detail) error {
	detail.Via, detail.ConversationID = worker.ViaHook, h.in.SessionID
	return h.client.Report(ctx, event, detail)
}
