package bridge

import (
	"time"

	"gascity/internal/acp"
)

// work is how far the agent is with a prompt, in the draft of version 2 of the protocol. There, the answer to a prompt only means
// that the agent has accepted it; later updates say that the session works or is idle. It is used with host.mu locked.
type work struct {
	inserted bool // the prompt is in the conversation
	began    bool
	idle     bool
	over     chan struct{} // closed when the agent is idle again
	result   acp.PromptResult
	failure  *acp.Error
}

// awaitWork waits until the agent has finished its work on an accepted prompt. It is for agents that use the draft of version 2
// of the protocol. An error means that the connection has ended or that the work failed.
func (h *host) awaitWork(t *turn) (acp.PromptResult, error) {
	select {
	case <-t.work.over:
	case <-h.conn.Done():
		return acp.PromptResult{}, acp.ErrClosed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.work.failure != nil { // a nil *acp.Error would be an error that is not nil
		return t.work.result, t.work.failure
	}
	return t.work.result, nil
}

// inserted records that the prompt of the turn is in the conversation.
func (h *host) inserted() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turn != nil {
		h.turn.work.inserted = true
	}
}

// handleState handles an update of the session's state. A second idle state does not end another turn. If the agent has never
// reported that it works, an idle state ends only a turn that was cancelled. Unknown states are ignored.
func (h *host) handleState(s acp.State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.background = s.Background
	switch s.State {
	case acp.StateRunning, acp.StateRequiresAction:
		if h.turn != nil {
			h.turn.work.began = true
		} else if !h.working {
			h.since = time.Now()
		}
		h.working = true
	case acp.StateIdle:
		h.handleIdle(s)
	}
	h.broadcastLocked()
	h.next()
}

// handleIdle ends the work of the agent: on a prompt that is in the conversation, or without a prompt. h.mu must be held.
func (h *host) handleIdle(s acp.State) {
	had := h.working
	h.working = false
	t := h.turn
	switch {
	case t != nil && !t.work.inserted:
		t.work.began = false
	case t != nil && !t.work.idle && (t.work.began || t.cancelled):
		t.work.idle, t.work.result, t.work.failure = true, s.Result, s.Error
		close(t.work.over)
	case t == nil && had:
		h.since = time.Now()
		h.turns++
		h.account(s.Result)
	}
}
