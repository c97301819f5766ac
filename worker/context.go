package worker

// ContextMode is the reason for which context is sent.
type ContextMode string

// The modes of context.
const (
	FullContext    ContextMode = "full"    // a new conversation
	CompactContext ContextMode = "compact" // after the conversation was compacted
	ResumeContext  ContextMode = "resume"  // the conversation was resumed
)

// Section is a piece of context. Type is "role", "work", "mail", "checkpoint", "directive" or a
// value of the sender's own.
type Section struct {
	Type    string `json:"type"`
	Content string `json:"content"`
	// Nonce is a random text in Content. If it is found in the conversation, the agent has received
	// the section. The city sets it.
	Nonce string `json:"nonce,omitempty"`
}

// Context is the body of POST /context, and the data of a "context" message. A
// section reaches an instance once for each epoch.
type Context struct {
	RunID    string      `json:"run_id"`
	Sections []Section   `json:"sections"`
	Mode     ContextMode `json:"mode"`
	// Epoch counts the compactions of the conversation. The city sets it.
	Epoch int `json:"epoch,omitempty"`
}

// ContextAnswer is the answer to POST /context.
type ContextAnswer struct {
	// Accepted reports that at least one section is sent.
	Accepted bool   `json:"accepted"`
	ID       string `json:"id"` // id of the message; its progress is reported as for a prompt; empty if nothing is sent
	// Skipped lists the types of sections that are not sent.
	Skipped []string `json:"skipped,omitempty"`
	// SkippedReasons holds, for each type, why the section is not sent.
	SkippedReasons map[string]string `json:"skipped_reasons,omitempty"`
}

// Beginning is how a conversation began, or why it continues in another form.
type Beginning string

// The ways in which a conversation can begin. Any other value counts as a start.
const (
	BeganFresh     Beginning = "startup"
	BeganResumed   Beginning = "resume"  // it was resumed
	BeganCleared   Beginning = "clear"   // a new conversation in the same process
	BeganCompacted Beginning = "compact" // it was compacted
)

// ContextClaim is the body of POST /context/claim: an agent CLI's hook requests the context that
// its agent must receive now. The returned sections count as sent. The hook later acknowledges,
// with the same ID, which nonces are in the conversation; the other sections are sent as a prompt.
type ContextClaim struct {
	RunID string `json:"run_id"`
	// ID identifies the claim in a repetition and in the acknowledgment: "claim-" and then letters,
	// digits and dashes, 8 to 64 characters in all.
	ID     string    `json:"id"`
	Source Beginning `json:"source"`
	// ConversationID is the model provider's id of the conversation.
	ConversationID string `json:"conversation_id,omitempty"`
	// Limit is the maximum number of bytes that the hook can pass on; zero means no limit. The rest
	// is sent as a prompt.
	Limit int `json:"limit,omitempty"`
}
