package workers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"gascity/worker"
)

// Push returns the worker of a session a credential, by its stream, and returns for
// which run. One of the same account that it has not fetched is taken back; the same
// one again is nothing. A worker that applies no identities is worker.ErrRefused.
func (e *Engine) Push(name string, c worker.Credentials) (run string, err error) {
	a := e.of(name)
	if a == nil {
		return "", fmt.Errorf("%w: no run of session %s is known", worker.ErrNotFound, name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.life.HasOffer(worker.OfferIdentity) {
		return "", fmt.Errorf("%w: the worker of %s does not apply credentials", worker.ErrRefused, name)
	}
	id := a.credentialID(c)
	was := a.owned[c.Account]
	if was == id {
		return a.id, nil
	}
	a.mailbox.Remove(was) // an older one must not come after this
	body := worker.Identity{RunID: a.id, SessionID: a.session, AgentName: a.agent, Credentials: &c}
	if _, err := a.putLocked(worker.IdentityMessage, id, body); err != nil {
		return "", full(err)
	}
	if a.owned == nil {
		a.owned = map[string]string{}
	}
	a.owned[c.Account] = id
	return a.id, nil
}

// credentialID names the message with a credential: the same one has the same name,
// also for a later controller, and does not reveal the value.
func (a *liveRun) credentialID(c worker.Credentials) string {
	mac := hmac.New(sha256.New, []byte(a.instance))
	fmt.Fprintf(mac, "credential %q %q", c.Account, string(c.Value))
	if c.ExpiresAt != nil {
		fmt.Fprint(mac, c.ExpiresAt.UnixNano())
	}
	return "credential-" + c.Account + "-" + hex.EncodeToString(mac.Sum(nil)[:8])
}

// joined says that a run may take credentials.
func (e *Engine) joined(a *liveRun) {
	if e.opts.Joined != nil {
		e.opts.Joined(a.session)
	}
}

// expiring passes on a worker's report that its credential expires.
func (e *Engine) expiring(a *liveRun, events []worker.TelemetryEvent) {
	for _, t := range events {
		if t.Type == worker.CredentialExpiring && t.Until != nil && e.opts.Expiring != nil {
			e.opts.Expiring(a.session, *t.Until)
		}
	}
}
