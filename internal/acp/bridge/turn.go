package bridge

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/acp"
	"gascity/runtime"
)

// turn is the agent's work on one prompt. It is used with host.mu locked.
type turn struct {
	entry     *entry
	written   chan struct{} // closed when the prompt was written or could not be
	ended     chan struct{}
	cancelled bool

	// How far the agent is, in the draft of version 2 of the protocol. There, the answer to a prompt only means that the agent
	// has accepted it; later updates say that the session works or is idle.
	inserted bool // the prompt is in the conversation
	began    bool
	idle     bool
	over     chan struct{} // closed when the agent is idle again
	result   acp.PromptResult
	failure  *acp.Error
}

// begin sends the prompt of an entry to the agent, which begins a turn. h.mu must be held.
func (h *host) begin(e *entry) {
	t := &turn{entry: e, written: make(chan struct{}), ended: make(chan struct{}), over: make(chan struct{})}
	text := e.text
	e.text = ""
	h.turn, h.since, h.last = t, time.Now(), ""
	h.broadcastLocked()
	params := acp.PromptParams{SessionID: h.conversation, Prompt: []acp.Block{acp.TextBlock(text)}}
	go func() { // stops when the agent has answered or the connection has ended
		h.transcript.line(quoted(text))
		h.record.entry(client.EntryPrompt, text)
		p, err := h.conn.Start(acp.MethodPrompt, params)
		close(t.written)
		var result acp.PromptResult
		if err == nil {
			<-p.Answered()
			err = p.Result(&result)
		}
		if err == nil && h.isDraft() {
			h.inserted()
			h.markAccepted("the agent's acceptance")
			result, err = h.awaitWork(t)
		}
		h.finish(t, result, err)
	}()
}

// quotedBytes is how many bytes of a prompt are printed.
const quotedBytes = 2000

// quoted returns a prompt as it is printed: each line after "> ", and only the beginning of a long prompt.
func quoted(text string) string {
	shown := text
	if len(text) > quotedBytes {
		shown = strings.ToValidUTF8(text[:quotedBytes], "") + fmt.Sprintf("... (%d bytes)", len(text))
	}
	return "> " + strings.ReplaceAll(shown, "\n", "\n> ")
}

// markAccepted records that the agent has accepted the prompt of the turn. sign is the evidence.
func (h *host) markAccepted(sign string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turn != nil {
		h.turn.entry.settle(runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: sign})
	}
}

// settle sets the outcome of the prompt, unless it is already known.
func (e *entry) settle(result runtime.Outcome) {
	if e.result.State == "" {
		e.result = result
		close(e.settled)
	}
}

// finish ends a turn after the agent's answer to its prompt, and sends the next prompt of the queue.
func (h *host) finish(t *turn, result acp.PromptResult, err error) {
	h.transcript.endLine()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recordAnswer(t.entry, err)
	h.turn, h.since, h.last = nil, time.Now(), ""
	h.turns++
	h.account(result)
	switch {
	case err != nil:
		h.last = "the last turn failed: " + err.Error()
	case result.StopReason != acp.StopEndTurn && result.StopReason != "":
		h.last = "the last turn ended: " + result.StopReason
	}
	if len(result.Usage) > 0 {
		h.usage = result.Usage
	} else if len(result.Meta) > 0 {
		h.usage = result.Meta
	}
	if t.cancelled || result.StopReason == acp.StopCancelled {
		h.boundary = h.since
	}
	for _, q := range h.asked {
		q.answer(acp.Cancelled())
	}
	h.asked = nil
	h.record.turnEnded(err != nil, h.last)
	if h.last != "" {
		h.transcript.line("acp: " + h.last)
	} else {
		h.transcript.line("acp: ready")
	}
	close(t.ended)
	h.broadcastLocked()
	h.next()
}

// account queues the report of the tokens that the turn has used. h.mu must be held.
func (h *host) account(result acp.PromptResult) {
	usage := result.Spent()
	if usage != nil {
		usage.Model = cmp.Or(usage.Model, h.model)
	}
	h.report.turn(fmt.Sprintf("%s turn %d", h.conversation, h.turns), usage, h.usageFile, h.window)
	h.window.Used, h.previousUses, h.uses = 0, h.uses, map[string]*use{}
}

// recordAnswer sets the outcome of a prompt after the agent has answered it, unless the agent had already accepted it. err is the
// error in the answer or nil. h.mu must be held.
func (h *host) recordAnswer(e *entry, err error) {
	result := runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "the turn's answer"}
	refuse := func(reason runtime.RefusalReason, detail string) {
		result = runtime.Outcome{State: runtime.OutcomeRefused, Reason: reason, Detail: detail}
	}
	var answer *acp.Error
	switch {
	case err == nil:
	case !errors.As(err, &answer):
		result = runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "the connection ended before the agent confirmed the prompt: " + err.Error()}
	case answer.Code == acp.CodeInvalidParams, answer.Code == acp.CodeInvalidRequest, answer.Code == acp.CodeParse, answer.Code == acp.CodeMethodNotFound:
		refuse(runtime.RefusedContent, "the agent refused it: "+answer.Error())
	case h.draft && answer.Code == acp.CodeCancelled:
		refuse(runtime.RefusedWithdrawn, "the agent dropped the prompt unread: it was cancelled before its turn began")
	case answer.Code == acp.CodeAuthRequired:
		refuse(runtime.RefusedUnready, "the agent requires a sign-in: "+answer.Error())
	default:
		result.Evidence, result.Detail = "the agent's error", "the turn failed: "+answer.Error()
	}
	e.settle(result)
}

// Time limits of an interrupt.
const (
	cancelTime = 10 * time.Second // for the answer of a cancelled turn
	signalTime = time.Second      // after each SIGINT
)

// errUnsettled means that the agent did not end its turn after a cancel request and two interrupts.
var errUnsettled = errors.New("the agent does not end its turn after a cancel request and two SIGINT")
