package ops

import (
	"cmp"
	"fmt"
	"strings"
)

// ListingHealth records from a provider's listings which sessions are known, and whether sessions
// can be started.
type ListingHealth struct {
	Failures int // consecutive listings that failed, completely or in part

	unknown  string          // why nothing is known about any session
	gap      string          // why nothing is known about sessions that are not in answered
	answered map[string]bool // if gap is set: the sessions in the partial listing
	closed   string          // why no session can be started although the listing works
}

// cannotOpen is the prefix of the message about a provider that cannot be opened.
const cannotOpen = "its provider cannot be opened: "

// Unopened returns the health of a provider whose opening has not finished: all its sessions are unknown.
func Unopened() ListingHealth { return ListingHealth{unknown: "its provider is being opened"} }

// NotOpened records that the provider cannot be opened.
func (s *ListingHealth) NotOpened(err error) { s.MarkUnknown(fmt.Sprint(cannotOpen, err)) }

// MarkUnknown records a failed listing: from now on nothing is known about any session, for the reason why.
func (s *ListingHealth) MarkUnknown(why string) {
	*s = ListingHealth{Failures: s.Failures + 1, unknown: why}
}

// Update applies a listing. It returns true if this listing is complete and an earlier one was not.
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

// IsUnknown reports whether nothing is known about any session.
func (s *ListingHealth) IsUnknown() bool { return s.unknown != "" }

// Fault returns why the last listing failed or was incomplete; empty if it was complete.
func (s *ListingHealth) Fault() string { return cmp.Or(s.unknown, s.gap) }

// WhyUnknown returns why the last listing showed nothing about the session with this name; empty if the listing was complete or
// contained it.
func (s *ListingHealth) WhyUnknown(name string) string {
	if s.unknown == "" && !s.answered[name] {
		return s.gap
	}
	return s.unknown
}

// Closed returns why no session can be started; empty if sessions can be started.
func (s *ListingHealth) Closed() string {
	return cmp.Or(strings.TrimPrefix(s.unknown, cannotOpen), s.closed)
}
