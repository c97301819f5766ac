package bridge

import (
	"time"

	"gascity/internal/acp"
)

// work is how the agent's work on a prompt is reported in the draft of the protocol: the
// answer to the prompt only says that the agent has it, and updates say that the session
// works, or rests. host.mu guards it.
type work struct {
	inserted bool // the prompt is in the conversation
	began    bool
	idle     bool
	over     chan struct{} // closed when it rests again
	result   acp.PromptResult
	failure  *acp.Error
}

// awaitWork waits until the agent has worked on the prompt that it has accepted.
func (h *host) awaitWork(t *turn) (acp.PromptResult, error) {
	select {
	case <-t.work.over:
	case <-h.conn.Done():
		return acp.PromptResult{}, acp.ErrClosed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.work.failure != nil {
		return t.work.result, t.work.failure
	}
	return t.work.result, nil
}

// inserted records that the prompt of the present turn is in the conversation.
func (h *host) inserted() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turn != nil {
		h.turn.work.inserted = true
	}
}

// handleState takes what the agent says that its session does. An agent that says twice that it
// rests has not worked twice; one that never said that it works has a turn only if that is
// cancelled. Other states are none of ours.
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

// handleIdle is the end of work: of a turn, whose prompt is in the conversation, or of what the
// agent did by itself. h.mu is held.
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
