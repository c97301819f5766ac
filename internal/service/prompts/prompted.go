package prompts

import "gascity/internal/domain/prompt"

// Prompted reports whether an instance of a session, given by its public name, was given a prompt
// by this or an earlier controller. A prompt with an unknown outcome counts.
func (e *Engine) Prompted(session, instance string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return instance != "" && e.prompted[session] == instance
}

// markPromptedLocked records the instance of a receipt if the receipt shows that it was given the
// prompt.
func (e *Engine) markPromptedLocked(r prompt.Receipt) {
	if wasPrompted(r) {
		e.prompted[r.Session] = r.Instance
	}
}

// restorePromptedLocked restores which instances were given prompts under an earlier controller.
// receipts must be ordered newest first.
func (e *Engine) restorePromptedLocked(receipts []prompt.Receipt) {
	for _, r := range receipts {
		if e.prompted[r.Session] == "" {
			e.markPromptedLocked(r)
		}
	}
}

// wasPrompted reports whether the receipt shows that its instance got the prompt or may have.
func wasPrompted(r prompt.Receipt) bool {
	return r.Instance != "" && (r.State == prompt.Submitted || r.State == prompt.Consumed || r.State == prompt.Unconfirmed)
}
