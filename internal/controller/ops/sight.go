package ops

import (
	"cmp"
	"fmt"
	"strings"
)

// ListingHealth is what the listings of a place show: which sessions can be known there, and
// whether something can be started.
type ListingHealth struct {
	Failures int // listings in a row that failed, in whole or in part

	unknown  string          // why nothing is known of any session
	gap      string          // why nothing is known of those that are not in answered
	answered map[string]bool // with a gap: those that the listing had
	closed   string          // why nothing can be started, although it answers
}

// cannotOpen begins what is said of a place whose provider cannot be opened.
const cannotOpen = "its provider cannot be opened: "

// Unopened returns the sight of a place that has not been asked yet.
func Unopened() ListingHealth { return ListingHealth{unknown: "its provider is being opened"} }

// NotOpened records that the provider cannot be opened.
func (s *ListingHealth) NotOpened(err error) { s.MarkUnknown(fmt.Sprint(cannotOpen, err)) }

// MarkUnknown records that nothing is known of any session.
func (s *ListingHealth) MarkUnknown(why string) {
	*s = ListingHealth{Failures: s.Failures + 1, unknown: why}
}

// Update takes a listing over, and reports whether all is known again after a failure.
func (s *ListingHealth) Update(l *Listing) (recovered bool) {
	why := fmt.Sprintf("its sessions cannot be listed: %v", l.Err)
	switch {
	case l.Partial:
		*s = ListingHealth{Failures: s.Failures + 1, gap: why, answered: map[string]bool{}, closed: l.Closed}
		for _, name := range l.Names {
			s.answered[name] = true
		}
		return false
	case l.Err != nil:
		s.MarkUnknown(why)
		return false
	}
	recovered = s.Failures > 0
	*s = ListingHealth{closed: l.Closed}
	return recovered
}

// IsUnknown reports whether nothing is known of any session.
func (s *ListingHealth) IsUnknown() bool { return s.unknown != "" }

// Fault returns what is not known, and why; empty if all is.
func (s *ListingHealth) Fault() string { return cmp.Or(s.unknown, s.gap) }

// WhyUnknown returns why nothing is known of a session, empty if something may be.
func (s *ListingHealth) WhyUnknown(name string) string {
	if s.unknown == "" && !s.answered[name] {
		return s.gap
	}
	return s.unknown
}

// Closed returns why nothing can be started, empty if something can.
func (s *ListingHealth) Closed() string {
	return cmp.Or(strings.TrimPrefix(s.unknown, cannotOpen), s.closed)
}
