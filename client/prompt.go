package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// NudgeRequest is a prompt for an agent.
//
// A key identifies one prompt in the whole city while its receipt is stored, which is one week
// after its end. With the same key and another target, text or file, the request is [ErrRefused].
// So a sender that does not know whether its request arrived sends it again unchanged.
type NudgeRequest struct {
	Text  string   `json:"text,omitempty"`
	Files []string `json:"files,omitempty"` // absolute paths on the controller's machine; copied into the working directory and referred to

	Priority string        `json:"priority,omitempty" enum:"system,urgent,normal"` // empty means normal
	Key      string        `json:"key,omitempty"`                                  // the same key again returns the same receipt and sends no second prompt; see above
	TTL      time.Duration `json:"ttl_ns,omitempty"`                               // after this time it is not delivered any more; 0 means 24 h
	Source   string        `json:"source,omitempty"`                               // who sends it, for people

	// Metadata is sent to agents that accept structured prompts: "from", "bead_id" and others; at
	// most 32 entries and 16 KiB.
	Metadata map[string]string `json:"metadata,omitempty"`

	// Literal means that the text is for the model, even if it begins like a command of the agent
	// CLI ("/", "!", "#", "@"). Then it is never typed: for an agent whose prompts are typed, the
	// receipt becomes dead.
	Literal bool `json:"literal,omitempty"`

	Instance  string `json:"instance,omitempty"`  // only for this instance; see Agent.Instance
	Successor bool   `json:"successor,omitempty"` // also for a later instance than the one that runs now

	// AllowChanges sends the text even if the agent's input box changes it in a way that may alter
	// its meaning; the receipt lists the changes. Without it such a text is sent as a file, or is
	// refused.
	AllowChanges bool `json:"allow_changes,omitempty"`

	Wait string `json:"wait,omitempty" enum:"submitted,consumed"` // wait until the receipt has this state or has ended; empty: until it is durable
}

// The priorities of a prompt.
const (
	PrioritySystem = "system" // delivered at once, even during a turn
	PriorityUrgent = "urgent" // delivered at once, after the turn was interrupted
	PriorityNormal = "normal" // delivered when no turn is in progress
)

// Priorities returns the priorities, the first to be delivered first.
func Priorities() []string { return []string{PrioritySystem, PriorityUrgent, PriorityNormal} }

// The states of a receipt. In the first four the delivery is in progress; consumed and the states
// that follow it are final, and so is submitted if no further report is
// possible.
const (
	ReceiptAccepted    = "accepted"    // durable
	ReceiptQueued      = "queued"      // waits for its turn
	ReceiptInjected    = "injected"    // being sent; from here on it is never sent again without proof
	ReceiptSubmitted   = "submitted"   // a signal from the agent shows that it accepted the prompt
	ReceiptConsumed    = "consumed"    // a turn worked on it
	ReceiptExpired     = "expired"     // its time to live ended before it was sent
	ReceiptDead        = "dead"        // it can never be delivered, see Reason; no byte reached the agent
	ReceiptCancelled   = "cancelled"   // withdrawn before it was sent
	ReceiptUnconfirmed = "unconfirmed" // sent, without proof; it may have arrived
)

// Receipt is the account of one prompt.
type Receipt struct {
	ID        string        `json:"id"`
	Agent     string        `json:"agent"`
	Session   string        `json:"session"`
	Instance  string        `json:"instance,omitempty"` // the instance that it is for, or was sent to; empty means the next one
	State     string        `json:"state"`
	Reason    string        `json:"reason,omitempty"`   // why it ended or waits, as text; after a refused attempt it begins with a code, see RefusalTyping
	Evidence  string        `json:"evidence,omitempty"` // the signals for the state: "composer_emptied+busy", ...
	Closed    bool          `json:"closed,omitempty"`   // for submitted: no further report will come; see Reason
	Priority  string        `json:"priority"`
	Source    string        `json:"source,omitempty"`
	Key       string        `json:"key,omitempty"`
	Position  int           `json:"position,omitempty"` // 1 is the next one; 0 means not in the queue
	Text      string        `json:"text,omitempty"`     // beginning of the text, at most 200 bytes
	Bytes     int           `json:"bytes"`              // size of the whole text
	Files     []string      `json:"files,omitempty"`
	Attempts  int           `json:"attempts"`
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at"`
	ExpiresAt time.Time     `json:"expires_at"`
	Deadline  time.Time     `json:"deadline,omitzero"`   // for injected: until then it gets a final state or is queued again
	SentBack  int           `json:"sent_back,omitempty"` // how often its text was sent, removed again and the prompt queued once more; at most three times
	RetryOf   string        `json:"retry_of,omitempty"`  // the ID of the prompt that this one repeats
	Literal   bool          `json:"literal,omitempty"`   // the text is for the model, and never typed as a command
	Steps     []ReceiptStep `json:"steps,omitempty"`     // earlier states, oldest first; not in listings

	// AllowChanges is the value of the request. Changes lists what the agent's input box changed in
	// the text, for people; empty means nothing known. ByFile is the path of the file with which
	// the agent got the text; it is removed after the turn.
	AllowChanges bool     `json:"allow_changes,omitempty"`
	Changes      []string `json:"changes,omitempty"`
	ByFile       string   `json:"by_file,omitempty"`

	Metadata map[string]string `json:"metadata,omitempty"` // metadata of the sender
}

// The codes at the beginning of a receipt's reason or a step's detail, followed by a
// colon, when a session refused an attempt. No byte arrived, and the prompt is
// tried again. Example: "human_typing: ...". Codes may be added.
const (
	RefusalTyping  = "human_typing"  // a person typed a moment ago
	RefusalDraft   = "draft_present" // the input box contains a person's text
	RefusalDialog  = "dialog_up"     // a dialog or question would receive the text
	RefusalBusy    = "busy"          // the agent accepts no input during a turn
	RefusalUnready = "not_ready"     // the agent has not drawn its input box yet
	RefusalBlocked = "input_blocked" // the input box may contain text of an earlier delivery; see Agent.InputBlocked
)

// ReceiptStep is one step of a receipt.
type ReceiptStep struct {
	State  string    `json:"state"`
	At     time.Time `json:"at"`
	Detail string    `json:"detail,omitempty"`
}

// Ended reports whether the receipt cannot change any more. A submitted receipt that is not closed
// can still become consumed.
func (r Receipt) Ended() bool {
	switch r.State {
	case ReceiptAccepted, ReceiptQueued, ReceiptInjected:
		return false
	}
	return true
}

// Reached reports whether the receipt has the given state or a later one, or has ended without it.
// state is submitted or consumed.
func (r Receipt) Reached(state string) bool {
	return r.Ended() && (r.State != ReceiptSubmitted || r.Closed || state != ReceiptConsumed)
}

// EditRequest changes a waiting prompt. A nil field changes nothing.
type EditRequest struct {
	Text     *string        `json:"text,omitempty"`
	Priority *string        `json:"priority,omitempty" enum:"system,urgent,normal"`
	TTL      *time.Duration `json:"ttl_ns,omitempty"` // from now
	By       string         `json:"by,omitempty"`     // who changes it, for people
}

// MoveRequest moves a waiting prompt among those of its priority. Exactly one of Before, First and Last is set.
type MoveRequest struct {
	Before string `json:"before,omitempty"` // the receipt of a waiting prompt of the same agent and priority
	First  bool   `json:"first,omitempty"`
	Last   bool   `json:"last,omitempty"`
	By     string `json:"by,omitempty"` // who moves it, for people
}

// PromptText is the whole text of a prompt that waits.
type PromptText struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Nudge sends a prompt to the target. It returns when the prompt is durable, or when it has the
// state req.Wait. A receipt that ended with another state is not an error: read its state.
// [ErrTimeout] means only that the wait has ended. For a target that cannot get prompts the error
// is [ErrRefused].
func (c *Client) Nudge(ctx context.Context, name string, req NudgeRequest) (Receipt, error) {
	if err := checkText(req.Text); err != nil {
		return Receipt{}, err
	}
	return call[Receipt](ctx, c, http.MethodPost, target(name, "nudge"), req)
}

// Queue returns prompts in the order of delivery: with [OnlyOpen] those that are not delivered yet;
// which can select others. If name is not empty, it returns those of one target.
func (c *Client) Queue(ctx context.Context, name string, which Which) ([]Receipt, error) {
	return call[[]Receipt](ctx, c, http.MethodGet, "/v1/queue"+query(map[string]string{"target": name, "which": string(which)}), nil)
}

// Receipt returns a receipt with its steps. If wait is "submitted" or "consumed", it returns when
// the receipt has this state or has ended. If the controller stops meanwhile, the error is
// [ErrUnavailable], or [ErrNoController] when it has exited.
func (c *Client) Receipt(ctx context.Context, id, wait string) (Receipt, error) {
	path := "/v1/receipts/" + url.PathEscape(id)
	if wait == "" {
		return call[Receipt](ctx, c, http.MethodGet, path, nil)
	}
	return callLong[Receipt](ctx, c, http.MethodGet, path+query(map[string]string{"wait": wait}), nil)
}

// EditPrompt changes a waiting prompt. If its delivery has begun, the error is [ErrRefused].
func (c *Client) EditPrompt(ctx context.Context, id string, req EditRequest) (Receipt, error) {
	if req.Text != nil {
		if err := checkText(*req.Text); err != nil {
			return Receipt{}, err
		}
	}
	return call[Receipt](ctx, c, http.MethodPatch, "/v1/receipts/"+url.PathEscape(id), req)
}

// MovePrompt moves a waiting prompt. Prompts of a higher priority still go first. If its delivery has begun, or that of
// req.Before, the error is [ErrRefused] and nothing changes.
func (c *Client) MovePrompt(ctx context.Context, id string, req MoveRequest) (Receipt, error) {
	return call[Receipt](ctx, c, http.MethodPost, "/v1/receipts/"+url.PathEscape(id)+"/move", req)
}

// PromptText returns the whole text of a waiting prompt. For one that does not wait any more the error is [ErrRefused].
func (c *Client) PromptText(ctx context.Context, id string) (PromptText, error) {
	return call[PromptText](ctx, c, http.MethodGet, "/v1/receipts/"+url.PathEscape(id)+"/text", nil)
}

// CancelPrompt cancels a prompt that the agent has not accepted. One that is being delivered
// is removed from the agent's input box; the receipt is unconfirmed if that cannot be proved.
// One that the agent has accepted, or whose receipt has ended, is [ErrRefused].
func (c *Client) CancelPrompt(ctx context.Context, id string) (Receipt, error) {
	return call[Receipt](ctx, c, http.MethodDelete, "/v1/receipts/"+url.PathEscape(id), nil)
}

// RetryRequest are the options of [Client.RetryPrompt].
type RetryRequest struct {
	// Force also sends a prompt again that the agent may have received: it may then arrive twice.
	// AllowChanges is as in [NudgeRequest], even if the old prompt was sent without it.
	Force bool `json:"force,omitempty"`
	// AllowChanges is that of [NudgeRequest], also if the old prompt was sent without it.
	AllowChanges bool `json:"allow_changes,omitempty"`

	Key    string `json:"key,omitempty"`    // as in [NudgeRequest]
	Source string `json:"source,omitempty"` // who sends it, for people
}

// RetryPrompt sends the prompt of a receipt again that has ended as dead, expired or cancelled. It
// returns the receipt of a new prompt with its own ID; its RetryOf is the old ID. For a prompt that
// the agent may have received (unconfirmed, submitted) the error is [ErrRefused] without req.Force.
// It is always [ErrRefused] for a consumed prompt and for one that has not ended.
func (c *Client) RetryPrompt(ctx context.Context, id string, req RetryRequest) (Receipt, error) {
	return call[Receipt](ctx, c, http.MethodPost, "/v1/receipts/"+url.PathEscape(id)+"/retry", req)
}
