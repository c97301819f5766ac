package worker

// ContextMode says on which occasion context is given.
type ContextMode string

// The modes of context.
const (
	FullContext    ContextMode = "full"    // a new conversation
	CompactContext ContextMode = "compact" // after the conversation was compacted
	ResumeContext  ContextMode = "resume"  // the conversation was taken up again
)

// Section is a piece of context. Type is "role", "work", "mail", "checkpoint",
// "directive" or a word of the sender's own.
type Section struct {
	Type    string `json:"type"`
	Content string `json:"content"`
	// Nonce stands in Content and is looked for in the conversation: it shows that
	// the agent got the section. The city sets it.
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
	// Accepted: at least one section is sent.
	Accepted bool   `json:"accepted"`
	ID       string `json:"id"` // of the message; its progress is reported as for a prompt; empty if nothing is sent
	// Skipped are the types of the sections that are not sent.
	Skipped []string `json:"skipped,omitempty"`
	// SkippedReasons say by type why a section is not sent.
	SkippedReasons map[string]string `json:"skipped_reasons,omitempty"`
}

// Beginning says how a conversation began, or why it goes on otherwise.
type Beginning string

// The beginnings. One that is not listed is a start.
const (
	BeganFresh     Beginning = "startup"
	BeganResumed   Beginning = "resume"  // it was taken up again
	BeganCleared   Beginning = "clear"   // a new one in the same process
	BeganCompacted Beginning = "compact" // it was compacted
)

// ContextClaim is the body of POST /context/claim: an agent CLI's hook asks for the
// context that its agent is to receive now. What it gets counts as on its way; with its
// ID it acknowledges later which nonces stand in the conversation, and the rest goes as a
// prompt.
type ContextClaim struct {
	RunID string `json:"run_id"`
	// ID names the claim, to ask again and to acknowledge it by: 8 to 64 letters, digits
	// and dashes, the first of them "claim-".
	ID     string    `json:"id"`
	Source Beginning `json:"source"`
	// ConversationID is the model provider's own.
	ConversationID string `json:"conversation_id,omitempty"`
	// Limit is the most bytes that the hook can hand over; zero is no limit. What is
	// beyond it goes as a prompt.
	Limit int `json:"limit,omitempty"`
}
