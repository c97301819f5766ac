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
	work      *work // only for the draft
}

// begin sends the prompt of an entry to the agent, which begins a turn. h.mu must be held.
func (h *host) begin(e *entry) {
	t := &turn{entry: e, written: make(chan struct{}), ended: make(chan struct{}), work: &work{over: make(chan struct{})}}
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
		h.turn.entry.confirm(sign)
	}
}

// confirm records that the agent has accepted the prompt, unless its outcome is already known. sign is the evidence.
func (e *entry) confirm(sign string) {
	if e.sign == "" && e.refused == "" && !e.failed {
		e.sign = sign
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

// recordAnswer sets the outcome of a prompt after the agent has answered it. err is the error in the answer or nil. h.mu must be
// held.
func (h *host) recordAnswer(e *entry, err error) {
	var answer *acp.Error
	switch {
	case err == nil:
		e.confirm("the turn's answer")
	case !errors.As(err, &answer):
		if e.sign == "" && e.refused == "" && !e.failed {
			e.failed, e.detail = true, "the connection ended before the agent confirmed the prompt: "+err.Error()
			close(e.settled)
		}
	case e.sign != "": // the agent had already accepted it
	case answer.Code == acp.CodeInvalidParams, answer.Code == acp.CodeInvalidRequest, answer.Code == acp.CodeParse, answer.Code == acp.CodeMethodNotFound:
		e.refused, e.detail = runtime.RefusedContent, "the agent refused it: "+answer.Error()
		close(e.settled)
	case h.draft && answer.Code == acp.CodeCancelled:
		e.refused, e.detail = runtime.RefusedWithdrawn, "the agent dropped the prompt unread: it was cancelled before its turn began"
		close(e.settled)
	case answer.Code == acp.CodeAuthRequired:
		e.refused, e.detail = runtime.RefusedUnready, "the agent requires a sign-in: "+answer.Error()
		close(e.settled)
	default:
		e.detail = "the turn failed: " + answer.Error()
		e.confirm("the agent's error")
	}
}

// Time limits of an interrupt.
const (
	cancelTime = 10 * time.Second // for the answer of a cancelled turn
	signalTime = time.Second      // after each SIGINT
)

// errUnsettled means that the agent did not end its turn after a cancel request and two interrupts.
var errUnsettled = errors.New("the agent does not end its turn after a cancel request and two SIGINT")
