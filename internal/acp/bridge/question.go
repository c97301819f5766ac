package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity/internal/acp"
	"gascity/runtime"
)

// Actions of an answer that package runtime does not have.
const (
	ActionApproveAlways = "approve_always"
	ActionDenyAlways    = "deny_always"
)

// question is a permission request of the agent that has no answer yet.
type question struct {
	id     string
	at     time.Time
	params acp.PermissionParams
	tool   *use // guarded by host.mu, like open
	open   bool // whether people are asked

	once   sync.Once
	result acp.PermissionResult
	done   chan struct{}
}

// answer sets the answer to a question and returns true. If the question already has an answer, it changes nothing and returns
// false.
func (q *question) answer(r acp.PermissionResult) (first bool) {
	q.once.Do(func() {
		q.result, first = r, true
		close(q.done)
	})
	return first
}

// addQuestion adds a permission request. It returns nil if the request needs no answer because the turn was cancelled or the
// agent has exited.
func (h *host) addQuestion(p acp.PermissionParams) *question {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turn != nil && h.turn.cancelled || h.ended {
		return nil
	}
	h.count++
	if old := h.previousUses[p.Tool.ID]; old != nil && h.uses[p.Tool.ID] == nil && p.Tool.ID != "" {
		h.uses[p.Tool.ID] = old // the agent continued without waiting for the answer
	}
	tool := updateUse(h.uses, p.Tool)
	p.Tool = tool.call
	q := &question{tool: tool, id: fmt.Sprintf("acp-%s-%d", h.nonce, h.count), at: time.Now(), params: p, done: make(chan struct{})}
	h.asked = append(h.asked, q)
	return q
}

// forget removes a question, because it was answered.
func (h *host) forget(q *question) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = slices.DeleteFunc(h.asked, func(o *question) bool { return o == q })
	if q.open {
		h.broadcastLocked()
	}
}

// ask handles a permission request of the agent. It returns when the city or a person has answered, or the request was cancelled.
func (h *host) ask(ctx context.Context, p acp.PermissionParams) (any, error) {
	h.markAccepted("permission request")
	q := h.addQuestion(p)
	if q == nil {
		return acp.Cancelled(), nil
	}
	defer h.forget(q)
	d := h.decide(ctx, q, callOf(q.params.Tool))
	once, offered := acp.OptionOfKind(p.Options, acp.AllowOnce)
	switch {
	case !d.Allowed:
		h.refuse(q)
		if h.explains() && q.answer(refusal(p.Options)) {
			return nil, denial(d)
		}
		q.answer(refusal(p.Options))
	case d.Interaction != "" && offered: // a person has already allowed the call
		h.transcript.line("= " + cmp.Or(once.Name, once.ID) + ": " + d.Reason)
		q.answer(acp.Selected(once.ID))
	default:
		h.raise(q)
	}
	select {
	case <-q.done:
	case <-ctx.Done(): // the agent has cancelled the request
		q.answer(acp.Cancelled())
	}
	return q.result, nil
}

// raise shows a question to people.
func (h *host) raise(q *question) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q.open = true
	h.transcript.line("? " + q.title() + " [" + strings.Join(q.names(), "|") + "]")
	h.broadcastLocked()
}

// raised returns the index of the question with the given ID that people are asked, or of the first one if id is empty. It is
// negative if there is none. h.mu must be held.
func (h *host) raised(id string) int {
	return slices.IndexFunc(h.asked, func(q *question) bool { return q.open && (id == "" || q.id == id) })
}

// refusal returns the answer that rejects only this one call.
func refusal(options []acp.Option) acp.PermissionResult {
	if o, ok := acp.OptionOfKind(options, acp.RejectOnce); ok {
		return acp.Selected(o.ID)
	}
	return acp.Cancelled()
}

// title returns the text of the question.
func (q *question) title() string {
	return cmp.Or(q.params.Title, q.params.Tool.Title, q.params.Tool.Kind, "permission")
}

// names returns the names of the question's options.
func (q *question) names() []string {
	names := make([]string, 0, len(q.params.Options))
	for _, o := range q.params.Options {
		names = append(names, cmp.Or(o.Name, o.ID))
	}
	return names
}

// interaction returns the question in the form in which package runtime reports questions.
func (q *question) interaction() *runtime.PendingInteraction {
	meta := map[string]string{runtime.MetaSource: string(runtime.SourceACP), runtime.MetaTool: cmp.Or(q.params.Tool.Kind, q.params.Tool.Title), runtime.MetaText: "no"}
	if input := q.params.Tool.RawInput; len(input) > 0 {
		meta[runtime.MetaInput] = string(input)
	} else {
		meta[runtime.MetaInput] = string(callOf(q.params.Tool).Input)
	}
	for i, o := range q.params.Options {
		n := "option_" + strconv.Itoa(i) + "_"
		meta[n+"id"], meta[n+"kind"], meta[n+"name"] = o.ID, o.Kind, o.Name
	}
	return &runtime.PendingInteraction{
		RequestID: q.id, Kind: runtime.WaitPermission, Prompt: q.title(), Options: q.names(), Metadata: meta,
	}
}

// respond answers a question that people are asked.
func (h *host) respond(r runtime.InteractionResponse) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.raised(r.RequestID)
	if at < 0 {
		return runtime.ErrInteractionGone
	}
	q := h.asked[at]
	result, err := choose(q.params.Options, r)
	if err != nil {
		return err
	}
	q.answer(result)
	h.asked = slices.Delete(h.asked, at, at+1)
	h.transcript.line("= " + cmp.Or(nameOf(q.params.Options, result.Outcome.OptionID), result.Outcome.Outcome))
	h.broadcastLocked()
	return nil
}

// nameOf returns the name of the option with the given ID, or the ID if the option has no name. If there is no such option, it
// returns an empty string.
func nameOf(options []acp.Option, id string) string {
	for _, o := range options {
		if o.ID == id && id != "" {
			return cmp.Or(o.Name, o.ID)
		}
	}
	return ""
}

// choose returns the option of the agent that an answer means. It never takes an option that is for all later calls for an answer
// that is for one call, or the reverse.
func choose(options []acp.Option, r runtime.InteractionResponse) (acp.PermissionResult, error) {
	kind := map[string]string{
		runtime.ActionApprove: acp.AllowOnce, ActionApproveAlways: acp.AllowAlways,
		runtime.ActionDeny: acp.RejectOnce, ActionDenyAlways: acp.RejectAlways,
	}[r.Action]
	switch {
	case r.Action == runtime.ActionCancel:
		return acp.Cancelled(), nil
	case kind != "":
		if o, ok := acp.OptionOfKind(options, kind); ok {
			return acp.Selected(o.ID), nil
		}
		return acp.PermissionResult{}, &runtime.AnswerError{Action: r.Action, Text: r.Text, Why: "the agent offers no option of the kind " + kind + "; choose one by its label, or cancel"}
	case r.Action == runtime.ActionChoose:
		return byLabel(options, r)
	}
	return acp.PermissionResult{}, &runtime.AnswerError{Action: r.Action, Text: r.Text, Why: "a permission is answered by one of its options"}
}

// byLabel returns the option with the name, the ID or the number that a person has written.
func byLabel(options []acp.Option, r runtime.InteractionResponse) (acp.PermissionResult, error) {
	for _, called := range []func(acp.Option) bool{
		func(o acp.Option) bool { return cmp.Or(o.Name, o.ID) == r.Text },
		func(o acp.Option) bool { return o.ID == r.Text },
	} {
		var found []acp.Option
		for _, o := range options {
			if called(o) {
				found = append(found, o)
			}
		}
		switch {
		case len(found) == 1:
			return acp.Selected(found[0].ID), nil
		case len(found) > 1:
			return acp.PermissionResult{}, &runtime.AnswerError{Action: r.Action, Text: r.Text, Why: "several options have this name; choose one by its number"}
		}
	}
	if n, err := strconv.Atoi(r.Text); err == nil && n >= 1 && n <= len(options) {
		return acp.Selected(options[n-1].ID), nil
	}
	return acp.PermissionResult{}, &runtime.AnswerError{Action: r.Action, Text: r.Text, Why: "there is no such option"}
}
