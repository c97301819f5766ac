package prompts

import "gascity/internal/domain/prompt"

// Prompted reports whether an instance of a session, by its public name, was given a
// prompt, also by an earlier controller. A prompt with an unknown outcome counts.
func (e *Engine) Prompted(session, instance string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return instance != "" && e.prompted[session] == instance
}

// markPromptedLocked records whom a receipt shows to have been given a prompt.
func (e *Engine) markPromptedLocked(r prompt.Receipt) {
	if wasPrompted(r) {
		e.prompted[r.Session] = r.Instance
	}
}

// promptedLocked knows again who was given prompts under a controller before, by their
// receipts, the newest first.
func (e *Engine) promptedLocked(receipts []prompt.Receipt) {
	for _, r := range receipts {
		if e.prompted[r.Session] == "" {
			e.markPromptedLocked(r)
		}
	}
}

func wasPrompted(r prompt.Receipt) bool {
	return r.Instance != "" && (r.State == prompt.Submitted || r.State == prompt.Consumed || r.State == prompt.Unconfirmed)
}
