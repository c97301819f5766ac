package session

// State is a session's lifecycle: a client.State word.
type State string
