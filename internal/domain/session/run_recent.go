package session

import "crypto/sha256"

// maxRecentNames is the minimum number of names that a [RecentNames] remembers; the maximum is
// twice as many.
const maxRecentNames = 256

// RecentNames is a set of the newest names. Its memory is bounded, whatever the length of the names.
// The zero value is empty. It is not safe for concurrent use.
type RecentNames struct {
	current, previous map[[sha256.Size]byte]struct{}
}

// Add adds a name. If there are too many names, it may drop the oldest ones.
func (r *RecentNames) Add(name string) {
	if r.current == nil || len(r.current) >= maxRecentNames {
		r.previous, r.current = r.current, map[[sha256.Size]byte]struct{}{}
	}
	r.current[HashToken(name)] = struct{}{}
}

// Remove deletes a name, and reports whether the set contained it.
func (r *RecentNames) Remove(name string) bool {
	if len(r.current)+len(r.previous) == 0 {
		return false
	}
	key := HashToken(name)
	_, young := r.current[key]
	_, old := r.previous[key]
	delete(r.current, key)
	delete(r.previous, key)
	return young || old
}
