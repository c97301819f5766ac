package web

import (
	"slices"
	"sync"
	"time"

	"gascity/client"
)

// codeLife is how long a code and a ticket are valid.
const codeLife = time.Minute

// once is a set of secrets that are valid once, for codeLife. A secret stands for a value. It is safe
// for concurrent use. It has no timer: an expired secret is removed when the next one is made.
type once[T any] struct {
	limit int // of secrets at a time; the oldest one is removed

	mu      sync.Mutex
	entries []onceEntry[T] // oldest first; guarded by mu
}

type onceEntry[T any] struct {
	digest  digest
	expires time.Time
	value   T
}

// issue returns a new secret for a value.
func (o *once[T]) issue(value T, now time.Time) (secret string, expires time.Time) {
	secret, sum := newSecret()
	expires = now.Add(codeLife)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removeExpiredLocked(now)
	if len(o.entries) >= o.limit {
		o.entries = o.entries[1:]
	}
	o.entries = append(o.entries, onceEntry[T]{sum, expires, value})
	return secret, expires
}

// redeem returns the value of a secret and removes the secret. ok is false if the secret is wrong,
// was used or has expired. The time that it takes does not depend on how much of a wrong secret is
// right.
func (o *once[T]) redeem(secret string, now time.Time) (value T, ok bool) {
	if len(secret) > maxSecret {
		return value, false
	}
	sum := digestOf(secret)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removeExpiredLocked(now)
	o.entries = slices.DeleteFunc(o.entries, func(e onceEntry[T]) bool { // compares with all of them
		if !e.digest.equal(sum) {
			return false
		}
		value, ok = e.value, true
		return true
	})
	return value, ok
}

// removeIf removes the secrets of some values.
func (o *once[T]) removeIf(match func(T) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries = slices.DeleteFunc(o.entries, func(e onceEntry[T]) bool { return match(e.value) })
}

// removeExpiredLocked removes expired secrets. If the clock was set back, a secret may be valid for
// longer, but never twice.
func (o *once[T]) removeExpiredLocked(now time.Time) {
	o.entries = slices.DeleteFunc(o.entries, func(e onceEntry[T]) bool { return !now.Before(e.expires) })
}

// Grant is what a ticket permits: one terminal of one session for one device.
type Grant struct {
	Device  client.WebDevice
	Session string // the name of an agent or of a session, as the device sent it
	Type    bool   // the device may become the driver; otherwise it may only watch
}

// ticket is what a ticket stands for.
type ticket struct {
	device  string // its id
	session string
	typing  bool
}
