package runtime

// PendingInteraction is a question or permission that blocks a session.
type PendingInteraction struct {
	RequestID string            `json:"request_id"`
	Kind      string            `json:"kind"`
	Prompt    string            `json:"prompt,omitempty"`
	Options   []string          `json:"options,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// InteractionResponse answers a [PendingInteraction]. An empty RequestID means
// the current one.
type InteractionResponse struct {
	RequestID string            `json:"request_id,omitempty"`
	Action    string            `json:"action"`
	Text      string            `json:"text,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// InteractionProvider is the extension of drivers that show and settle what
// blocks a session.
type InteractionProvider interface {
	// Pending returns the current interaction, nil if there is none.
	// [ErrSessionNotFound] if the session is missing.
	Pending(name string) (*PendingInteraction, error)
	// Respond answers it, once. A RequestID that is not the current one's is an
	// error and nothing is sent.
	Respond(name string, response InteractionResponse) error
}

// Pending returns what blocks the session. Without the extension the error
// matches [ErrInteractionUnsupported].
func Pending(p Provider, name string) (*PendingInteraction, error) {
	if ip, ok := As[InteractionProvider](p, name); ok {
		return ip.Pending(name)
	}
	return nil, &Error{Op: "read pending interaction of", Session: name, Err: ErrInteractionUnsupported}
}

// Respond answers what blocks the session. Without the extension the error
// matches [ErrInteractionUnsupported].
func Respond(p Provider, name string, response InteractionResponse) error {
	if ip, ok := As[InteractionProvider](p, name); ok {
		return ip.Respond(name, response)
	}
	return &Error{Op: "respond to", Session: name, Err: ErrInteractionUnsupported}
}
