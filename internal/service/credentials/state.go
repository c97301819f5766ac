package credentials

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Phase is the condition of an account.
type Phase string

// The phases. An account that was not needed yet has the empty phase.
const (
	Good    Phase = "good"
	Failing Phase = "failing" // the value is valid, but the last renewal failed
	Expired Phase = "expired" // there is no valid value, and the last renewal failed
)

// State is the state of an account, without its value.
type State struct {
	Name    string
	Phase   Phase
	Expires time.Time // expiry time of the value; zero: never, or there is no value
	Err     error     // error of the last renewal
}

// state returns the state of the account at now.
func (a *account) state(now time.Time) State {
	s := State{Name: a.Name, Expires: a.value.Expires, Err: a.err}
	switch {
	case a.valid(now) && a.err == nil:
		s.Phase = Good
	case a.valid(now):
		s.Phase = Failing
	case a.err != nil:
		s.Phase = Expired
	case a.serial > 0: // the value has expired, and the first renewal is running
		s.Phase = a.phase
	}
	return s
}

// States returns the states of all accounts, sorted by name.
func (b *Broker) States() []State {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.opts.Environment.Now()
	var out []State
	for _, name := range slices.Sorted(maps.Keys(b.accounts)) {
		out = append(out, b.accounts[name].state(now))
	}
	return out
}

// PromptHold returns why a session gets no new prompts: one of its credentials has expired. It
// returns an empty string if it may get them.
func (b *Broker) PromptHold(session string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.opts.Environment.Now()
	for _, name := range b.leases[session] {
		if a := b.accounts[name]; a != nil {
			if s := a.state(now); s.Phase == Expired {
				return fmt.Sprintf("the credential %s has expired or cannot be obtained: %v", name, s.Err)
			}
		}
	}
	return ""
}

// Holders returns the names of the sessions that get the credential with this name, sorted.
func (b *Broker) Holders(name string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for session, names := range b.leases {
		if slices.Contains(names, name) {
			out = append(out, session)
		}
	}
	slices.Sort(out)
	return out
}
