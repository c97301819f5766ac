package bridge

import (
	"cmp"
	"context"
	"encoding/json"

	"gascity/internal/acp"
	"gascity/internal/agentcli"
	"gascity/worker"
)

// The host asks the agent's city about each tool that it learns of before the tool runs: tools for which the agent requests a
// permission, and file and terminal methods. The host learns of other tools only when they run.

// sendCanary shows the city that this program asks it before the agent uses a tool, with a request that names no real tool. It
// does not show that the agent asks about every tool.
func (h *host) sendCanary(ctx context.Context) {
	if h.city != nil {
		_, _ = h.city.Authorize(ctx, worker.Call{Tool: worker.Canary, Partial: true}) // an error does not matter: the first real request reports it too
	}
}

// decide asks the city whether a call is allowed. It stops waiting when the question q is answered in another way. If the agent
// belongs to no city, the call is allowed, and a person is still asked.
func (h *host) decide(ctx context.Context, q *question, call worker.Call) worker.Decision {
	if h.city == nil {
		return worker.Decision{Allowed: true}
	}
	if call.Context == nil {
		call.Context = map[string]string{"cwd": h.dir}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // stops when decide returns
		select {
		case <-q.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	d, err := h.city.Authorize(ctx, call)
	if err == nil && d.Allowed {
		return d
	}
	select {
	case <-q.done: // the question was answered in another way
	default:
		h.transcript.line("acp: denied " + call.Tool + ": " + reasonOf(d))
	}
	d.Allowed = false
	return d
}

// reasonOf returns why a call was denied, with the name of the rule.
func reasonOf(d worker.Decision) string {
	if d.Rule == "" {
		return d.Reason
	}
	return d.Reason + " (rule " + d.Rule + ")"
}

// denial returns the error with which the agent is answered if the city denies a call.
func denial(d worker.Decision) error {
	return &acp.Error{Code: acp.CodeDenied, Message: "denied: " + reasonOf(d)}
}

// explains reports whether this agent gives its model the error with which a permission request is answered. The protocol has no
// other way to send the model a reason.
func (h *host) explains() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return agentcli.ReportsErrorsToModel(h.agent)
}

// serveAuthorized handles a request of the agent to use a file or a command: it asks the city about the call, and does it only if
// that is allowed. call returns the call for the parameters of the request, and do does it.
func serveAuthorized[P any](ctx context.Context, h *host, params json.RawMessage, call func(P) worker.Call, do func(P) (any, error)) (any, error) {
	return serve(params, func(p P) (any, error) {
		q := h.addQuestion(acp.PermissionParams{})
		if q == nil {
			return nil, &acp.Error{Code: acp.CodeCancelled, Message: "cancelled"}
		}
		d := h.decide(ctx, q, call(p))
		h.forget(q)
		if !d.Allowed {
			return nil, denial(d)
		}
		return do(p)
	})
}

// refuse records that a tool call was denied. If the agent has already used the tool, refuse reports that to the city instead.
func (h *host) refuse(q *question) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch id := q.tool.call.ID; {
	case id == "":
	case q.tool.call.Status == acp.ToolCompleted:
		h.bypassed(q.tool)
	default:
		h.refused.Add(id)
	}
}

// used handles an update of a tool call. If the call was denied but the tool was used all the same, it reports that to the city,
// also after the turn has ended.
func (h *host) used(t acp.ToolCall) {
	h.mu.Lock()
	defer h.mu.Unlock()
	denied := (t.Status == acp.ToolCompleted || t.Status == acp.ToolFailed) && h.refused.Remove(t.ID)
	if denied {
		u := updateUse(h.uses, t)
		u.over = true
		if t.Status == acp.ToolCompleted {
			h.bypassed(u)
		}
	}
	if (h.turn != nil || h.working) && !denied {
		h.report.tool(h.uses, t)
	}
}

// bypassed reports to the city that the agent has used a tool that was denied. h.mu must be held.
func (h *host) bypassed(u *use) {
	h.transcript.line("acp: the agent says that a denied tool has run: " + cmp.Or(u.call.Title, u.call.ID))
	h.report.used(u)
}
