package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"
)

// NudgeRequest is a prompt for an agent.
//
// A key belongs to one prompt of the whole city for as long as its receipt is kept,
// which is a week beyond its end: with another target, text or file it is
// [ErrRefused]. So a sender that does not know whether its call arrived
// repeats it as it was.
type NudgeRequest struct {
	Text  string   `json:"text,omitempty"`
	Files []string `json:"files,omitempty"` // absolute paths on the controller's machine; put into the working directory and referred to

	Priority string        `json:"priority,omitempty" enum:"system,urgent,normal"` // empty is normal
	Key      string        `json:"key,omitempty"`                                  // the same key again gives the same receipt and no second prompt; see below
	TTL      time.Duration `json:"ttl_ns,omitempty"`                               // after that it is not delivered any more; 0 is 24 h
	Source   string        `json:"source,omitempty"`                               // who sends it, for people

	// Metadata goes along with the prompt to agents that take it in structured form:
	// "from", "bead_id", ...; at most 32 entries and 16 KiB.
	Metadata map[string]string `json:"metadata,omitempty"`

	// Literal: the text is for the model, also where it begins like a command of the agent CLI
	// ("/", "!", "#", "@"). It is never typed then: for an agent whose prompts are typed the
	// receipt becomes dead.
	Literal bool `json:"literal,omitempty"`

	Instance  string `json:"instance,omitempty"`  // only to this instance; see Agent.Instance
	Successor bool   `json:"successor,omitempty"` // also to a later instance than the one that runs now

	// AllowChanges sends the text also if the agent's input box changes it in a way that may
	// alter its meaning; the receipt lists the changes. Without it such a text goes by file,
	// or is refused.
	AllowChanges bool `json:"allow_changes,omitempty"`

	Wait string `json:"wait,omitempty" enum:"submitted,consumed"` // answer when it has come so far or ended; empty: when it is durable
}

// The states of a receipt. The first four are on the way; consumed and those
// that follow it are final, and so is submitted if no further report is
// possible.
const (
	ReceiptAccepted    = "accepted"    // durable
	ReceiptQueued      = "queued"      // waits for its turn
	ReceiptInjected    = "injected"    // being handed over: from here on it is never sent again without proof
	ReceiptSubmitted   = "submitted"   // the agent accepted it, by evidence from its side
	ReceiptConsumed    = "consumed"    // a turn worked on it
	ReceiptExpired     = "expired"     // its time was over before it was handed over
	ReceiptDead        = "dead"        // it can never be delivered, see Reason; not a byte reached the agent
	ReceiptCancelled   = "cancelled"   // withdrawn before it was handed over
	ReceiptUnconfirmed = "unconfirmed" // handed over without evidence; it may have arrived
)

// Receipt is the account of one prompt.
type Receipt struct {
	ID        string        `json:"id"`
	Agent     string        `json:"agent"`
	Session   string        `json:"session"`
	Instance  string        `json:"instance,omitempty"` // the instance that it is for, or went to; empty: the next one
	State     string        `json:"state"`
	Reason    string        `json:"reason,omitempty"`   // of an end, or why it waits, in words; after a refused attempt it begins with a word, see RefusalTyping
	Evidence  string        `json:"evidence,omitempty"` // what proved the state: "composer_emptied+busy", ...
	Closed    bool          `json:"closed,omitempty"`   // of a submitted one: it ended so, no further report will come; see Reason
	Priority  string        `json:"priority"`
	Source    string        `json:"source,omitempty"`
	Key       string        `json:"key,omitempty"`
	Position  int           `json:"position,omitempty"` // 1 is the next one; 0 is not in the queue
	Text      string        `json:"text,omitempty"`     // its beginning, at most 200 bytes
	Bytes     int           `json:"bytes"`              // of the whole text
	Files     []string      `json:"files,omitempty"`
	Attempts  int           `json:"attempts"`
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at"`
	ExpiresAt time.Time     `json:"expires_at"`
	Deadline  time.Time     `json:"deadline,omitzero"`   // of an injected one: by then it has a final state or is in the queue again
	SentBack  int           `json:"sent_back,omitempty"` // how often its text was sent, removed again and the prompt queued once more; at most three times
	RetryOf   string        `json:"retry_of,omitempty"`  // the ID of the prompt that this one repeats
	Literal   bool          `json:"literal,omitempty"`   // its text is for the model, and never typed as a command
	Steps     []ReceiptStep `json:"steps,omitempty"`     // how it came here, oldest first; not in listings

	// AllowChanges is that of the request. Changes are what the agent's input box changed in
	// the text, for people; empty: nothing that is known. ByFile is the path of the file in
	// which the agent was given the text, and which is removed after the turn.
	AllowChanges bool     `json:"allow_changes,omitempty"`
	Changes      []string `json:"changes,omitempty"`
	ByFile       string   `json:"by_file,omitempty"`

	Metadata map[string]string `json:"metadata,omitempty"` // what its sender had go along with it
}

// The words with which the reason of a receipt or the detail of a step begins, a
// colon after them, when a session did not take an attempt: not a byte arrived, and it is
// tried again. "human_typing: ..." and so on; new ones may come.
const (
	RefusalTyping  = "human_typing"  // a person typed a moment ago
	RefusalDraft   = "draft_present" // somebody's text stands in the input box
	RefusalDialog  = "dialog_up"     // a dialog or question would swallow it
	RefusalBusy    = "busy"          // the agent accepts no input during a turn
	RefusalUnready = "not_ready"     // the input box is not there yet
	RefusalBlocked = "input_blocked" // the input box may hold text of an earlier delivery; see Agent.InputBlocked
)

// ReceiptStep is one step of a receipt.
type ReceiptStep struct {
	State  string    `json:"state"`
	At     time.Time `json:"at"`
	Detail string    `json:"detail,omitempty"`
}

// Ended reports whether nothing will change the receipt any more, save that a
// submitted one that is not closed may become consumed.
func (r Receipt) Ended() bool {
	switch r.State {
	case ReceiptAccepted, ReceiptQueued, ReceiptInjected:
		return false
	}
	return true
}

// Reached reports whether the receipt has come as far as state, submitted or
// consumed, or has ended without.
func (r Receipt) Reached(state string) bool {
	return r.Ended() && (r.State != ReceiptSubmitted || r.Closed || state != ReceiptConsumed)
}

// EditRequest changes a prompt that waits. Nil leaves as it is.
type EditRequest struct {
	Text     *string        `json:"text,omitempty"`
	Priority *string        `json:"priority,omitempty" enum:"system,urgent,normal"`
	TTL      *time.Duration `json:"ttl_ns,omitempty"` // from now
}

// Nudge takes a prompt for the target. It returns when the prompt is durable,
// or has come as far as req.Wait says: a receipt that ended otherwise is no
// error, read its state. [ErrTimeout] means that the wait is over and nothing
// else. A target that cannot get prompts is [ErrRefused].
func (c *Client) Nudge(ctx context.Context, name string, req NudgeRequest) (Receipt, error) {
	if err := checkText(req.Text); err != nil {
		return Receipt{}, err
	}
	return call[Receipt](ctx, c, http.MethodPost, target(name, "nudge"), req)
}

// Queue lists the prompts on their way, in the order of delivery; those of one
// target if name is not empty.
func (c *Client) Queue(ctx context.Context, name string, which Which) ([]Receipt, error) {
	values := url.Values{}
	if name != "" {
		values.Set("target", name)
	}
	if which != OnlyOpen {
		values.Set("which", string(which))
	}
	return call[[]Receipt](ctx, c, http.MethodGet, "/v1/queue?"+values.Encode(), nil)
}

// Receipt returns a receipt with its steps. With wait, "submitted" or
// "consumed", it answers when the receipt has come so far or ended; a controller
// that is ended meanwhile makes it [ErrUnavailable], or [ErrNoController] when it
// is gone.
func (c *Client) Receipt(ctx context.Context, id, wait string) (Receipt, error) {
	path := "/v1/receipts/" + url.PathEscape(id)
	if wait == "" {
		return call[Receipt](ctx, c, http.MethodGet, path, nil)
	}
	return callLong[Receipt](ctx, c, http.MethodGet, path+"?wait="+url.QueryEscape(wait), nil)
}

// EditPrompt changes a prompt that waits. One that is on its way is [ErrRefused].
func (c *Client) EditPrompt(ctx context.Context, id string, req EditRequest) (Receipt, error) {
	if req.Text != nil {
		if err := checkText(*req.Text); err != nil {
			return Receipt{}, err
		}
	}
	return call[Receipt](ctx, c, http.MethodPatch, "/v1/receipts/"+url.PathEscape(id), req)
}

// CancelPrompt cancels a prompt that the agent has not accepted. One that is being delivered
// is removed from the agent's input box; the receipt is unconfirmed if that cannot be proved.
// One that the agent has accepted, or whose receipt has ended, is [ErrRefused].
func (c *Client) CancelPrompt(ctx context.Context, id string) (Receipt, error) {
	return call[Receipt](ctx, c, http.MethodDelete, "/v1/receipts/"+url.PathEscape(id), nil)
}

// RetryRequest sends a prompt once more.
type RetryRequest struct {
	// Force also retries a prompt that the agent may have got: it may then arrive twice.
	Force bool `json:"force,omitempty"`
	// AllowChanges is that of [NudgeRequest], also if the old prompt was sent without it.
	AllowChanges bool `json:"allow_changes,omitempty"`

	Key    string `json:"key,omitempty"`    // as of [NudgeRequest]
	Source string `json:"source,omitempty"` // who sends it, for people
}

// RetryPrompt sends the prompt of a receipt that has ended as dead, expired or cancelled once
// more. The answer is the receipt of a new prompt with an ID of its own; its RetryOf is the old
// one. A prompt that the agent may have got (unconfirmed, submitted) is [ErrRefused] without
// req.Force, and so are a consumed one and one that has not ended.
func (c *Client) RetryPrompt(ctx context.Context, id string, req RetryRequest) (Receipt, error) {
	return call[Receipt](ctx, c, http.MethodPost, "/v1/receipts/"+url.PathEscape(id)+"/retry", req)
}

// checkText refuses what JSON would silently turn into another text.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: the prompt is not valid UTF-8", ErrInvalid)
	}
	return nil
}
