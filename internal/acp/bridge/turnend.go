package bridge

import (
	"time"

	"gascity/internal/acp"
)

// awaitWork waits until the agent has finished its work on an accepted prompt. It is for agents that use the draft of version 2
// of the protocol. An error means that the connection has ended or that the work failed.
func (h *host) awaitWork(t *turn) (acp.PromptResult, error) {
	select {
	case <-t.over:
	case <-h.conn.Done():
		return acp.PromptResult{}, acp.ErrClosed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.failure != nil { // a nil *acp.Error would be an error that is not nil
		return t.result, t.failure
	}
	return t.result, nil
}

// inserted records that the prompt of the turn is in the conversation.
func (h *host) inserted() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turn != nil {
		h.turn.inserted = true
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
			h.turn.began = true
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
	case t != nil && !t.inserted:
		t.began = false
	case t != nil && !t.idle && (t.began || t.cancelled):
		t.idle, t.result, t.failure = true, s.Result, s.Error
		close(t.over)
	case t == nil && had:
		h.since = time.Now()
		h.turns++
		h.account(s.Result)
	}
}
