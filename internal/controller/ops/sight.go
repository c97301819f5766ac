package ops

import (
	"cmp"
	"fmt"
	"strings"
)

// Sight is what the listings of a place show: which sessions can be known there, and
// whether something can be started.
type Sight struct {
	Failures int // listings in a row that failed, in whole or in part

	blind    string          // why nothing is known of any session
	gap      string          // why nothing is known of those that are not in answered
	answered map[string]bool // with a gap: those that the listing had
	closed   string          // why nothing can be started, although it answers
}

// cannotOpen begins what is said of a place whose provider cannot be opened.
const cannotOpen = "its provider cannot be opened: "

// Unopened is the sight of a place that has not been asked yet.
func Unopened() Sight { return Sight{blind: "its provider is being opened"} }

// NotOpened notes that the provider cannot be opened.
func (s *Sight) NotOpened(err error) { s.Lose(fmt.Sprint(cannotOpen, err)) }

// Lose notes that nothing is known of any session.
func (s *Sight) Lose(why string) {
	*s = Sight{Failures: s.Failures + 1, blind: why}
}

// Take takes a listing over, and reports whether all is known again after a failure.
func (s *Sight) Take(l *Listing) (recovered bool) {
	why := fmt.Sprintf("its sessions cannot be listed: %v", l.Err)
	switch {
	case l.Partial:
		*s = Sight{Failures: s.Failures + 1, gap: why, answered: map[string]bool{}, closed: l.Closed}
		for _, name := range l.Names {
			s.answered[name] = true
		}
		return false
	case l.Err != nil:
		s.Lose(why)
		return false
	}
	recovered = s.Failures > 0
	*s = Sight{closed: l.Closed}
	return recovered
}

// Blind reports whether nothing is known of any session.
func (s *Sight) Blind() bool { return s.blind != "" }

// Fault says what is not known, and why; empty if all is.
func (s *Sight) Fault() string { return cmp.Or(s.blind, s.gap) }

// To says why nothing is known of a session, empty if something may be.
func (s *Sight) To(name string) string {
	if s.blind == "" && !s.answered[name] {
		return s.gap
	}
	return s.blind
}

// Closed says why nothing can be started, empty if something can.
func (s *Sight) Closed() string { return cmp.Or(strings.TrimPrefix(s.blind, cannotOpen), s.closed) }
