package credentials

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Phase is how an account is.
type Phase string

// The phases. The empty one is an account that was not needed yet.
const (
	Good    Phase = "good"
	Failing Phase = "failing" // it is good still, but could not be renewed
	Expired Phase = "expired" // there is none that is good, and the last try failed
)

// State is how an account is, without its value.
type State struct {
	Name    string
	Phase   Phase
	Expires time.Time // of the value; zero: never, or there is none
	Err     error     // of the last try
	Again   time.Time // when it is tried again; zero: not by itself
}

func (a *account) state(now time.Time) State {
	s := State{Name: a.Name, Expires: a.value.Expires, Err: a.err, Again: a.again}
	switch {
	case a.good(now) && a.failed == 0:
		s.Phase = Good
	case a.good(now):
		s.Phase = Failing
	case a.failed > 0:
		s.Phase = Expired
	case a.serial > 0: // it has ended, and the first try is under way
		s.Phase = a.phase
	}
	return s
}

// States returns how all accounts are, by their names.
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

// PromptHold returns why a session gets no new prompts: a credential that it has to have has
// ended. Empty: it may have them.
func (b *Broker) PromptHold(session string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.opts.Environment.Now()
	for _, name := range b.leases[session] {
		if a := b.accounts[name]; a != nil {
			if s := a.state(now); s.Phase == Expired {
				return fmt.Sprintf("the credential %s has ended or cannot be had: %v", name, s.Err)
			}
		}
	}
	return ""
}

// Holders returns the sessions that are to have a credential.
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
