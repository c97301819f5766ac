package workers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"gascity/worker"
)

// Push sends a credential to the worker of a session by its stream and removes an
// older credential of the same account that the worker has not fetched. It does
// nothing if the worker was already sent the same credential. It returns worker.ErrRefused if the
// worker does not apply credentials.
func (e *Engine) Push(name string, c worker.Credentials) error {
	a := e.runOf(name)
	if a == nil {
		return fmt.Errorf("%w: no run of session %s is known", worker.ErrNotFound, name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.life.HasOffer(worker.OfferIdentity) {
		return fmt.Errorf("%w: the worker of %s does not apply credentials", worker.ErrRefused, name)
	}
	id := a.credentialID(c)
	was := a.owned[c.Account]
	if was == id {
		return nil
	}
	a.mailbox.Remove(was) // an older credential must not arrive after this one
	body := worker.Identity{RunID: a.id, SessionID: a.session, AgentName: a.agent, Credentials: &c}
	if _, err := a.putLocked(worker.IdentityMessage, id, body); err != nil {
		return mailboxError(err)
	}
	if a.owned == nil {
		a.owned = map[string]string{}
	}
	a.owned[c.Account] = id
	return nil
}

// credentialID returns the ID of the message that sends a credential. The same credential always
// gets the same ID, so it is sent once. The ID does not reveal the value.
func (a *liveRun) credentialID(c worker.Credentials) string {
	mac := hmac.New(sha256.New, []byte(a.instance))
	fmt.Fprintf(mac, "credential %q %q", c.Account, string(c.Value))
	if c.ExpiresAt != nil {
		fmt.Fprint(mac, c.ExpiresAt.UnixNano())
	}
	return "credential-" + c.Account + "-" + hex.EncodeToString(mac.Sum(nil)[:8])
}

// notifyExpiring calls Options.Expiring for each event that reports that a credential expires.
func (e *Engine) notifyExpiring(a *liveRun, events []worker.TelemetryEvent) {
	for _, t := range events {
		if t.Type == worker.CredentialExpiring && t.Until != nil {
			e.opts.Expiring(a.session, *t.Until)
		}
	}
}
