package bridge

import (
	"cmp"
	"context"
	"encoding/json"

	"gascity/internal/acp"
	"gascity/internal/agentcli/hooks"
	"gascity/worker"
)

// The host asks the agent's city about each tool that it hears of before it runs: those
// that the agent wants a permission for, and what it does for the agent itself. Other tools
// of the agent it only hears of when they run.

// prove reports to the city, once, that what the agent asks for is judged. It proves no
// guard.
func (h *host) prove(ctx context.Context) {
	if h.city != nil {
		_, _ = h.city.Authorize(ctx, worker.Call{Tool: worker.Canary, Partial: true}) // the first question reports it too
	}
}

// decide asks the city about a call, until q is settled otherwise. Without a city of its own
// the agent may do what a person lets it do.
func (h *host) decide(ctx context.Context, q *question, call worker.Call) worker.Decision {
	if h.city == nil {
		return worker.Decision{Allowed: true}
	}
	if call.Context == nil {
		call.Context = map[string]string{"cwd": h.dir}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the answer
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
	case <-q.done: // the caller has left
	default:
		h.transcript.line("acp: denied " + call.Tool + ": " + reasonOf(d))
	}
	d.Allowed = false
	return d
}

// reasonOf is why a call is denied, for the agent and for people.
func reasonOf(d worker.Decision) string {
	if d.Rule == "" {
		return d.Reason
	}
	return d.Reason + " (rule " + d.Rule + ")"
}

func denial(d worker.Decision) error {
	return &acp.Error{Code: acp.CodeDenied, Message: "denied: " + reasonOf(d)}
}

// explains reports whether the agent passes its model the error of a permission request:
// the protocol has no other place for a reason.
func (h *host) explains() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return hooks.ReportsErrorsToModel(h.agent)
}

// served does for the agent what the city allows it.
func served[P any](ctx context.Context, h *host, params json.RawMessage, call func(P) worker.Call, do func(P) (any, error)) (any, error) {
	return serve(params, func(p P) (any, error) {
		q := h.put(acp.PermissionParams{})
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

// refuse records that a tool must not run. One that has run meanwhile is reported as such.
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

// used takes what the agent reports about a tool. A denied one is expected to fail; if it did
// not, that is reported, also after the end of the turn.
func (h *host) used(t acp.ToolCall) {
	h.mu.Lock()
	defer h.mu.Unlock()
	denied := (t.Status == acp.ToolCompleted || t.Status == acp.ToolFailed) && h.refused.Remove(t.ID)
	if denied {
		u := useOf(h.uses, t)
		u.over = true
		if t.Status == acp.ToolCompleted {
			h.bypassed(u)
		}
	}
	if (h.turn != nil || h.working) && !denied {
		h.report.tool(h.uses, t)
	}
}

// bypassed reports to the city that a tool ran that it has denied. h.mu is
// held.
func (h *host) bypassed(u *use) {
	h.transcript.line("acp: it says that what was not allowed has run: " + cmp.Or(u.call.Title, u.call.ID))
	h.report.used(u)
}
