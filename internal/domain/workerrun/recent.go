package workerrun

import "crypto/sha256"

// maxRecent is the minimum number of names that a [Recent] remembers; the maximum is twice as
// many.
const maxRecent = 256

// Recent is a set of the newest names. Its memory is bounded, whatever the length of the names.
// The zero value is empty. It is not safe for concurrent use.
type Recent struct {
	current, previous map[[sha256.Size]byte]struct{}
}

// Add adds a name. It may remove the oldest names.
func (r *Recent) Add(name string) {
	if r.current == nil || len(r.current) >= maxRecent {
		r.previous, r.current = r.current, map[[sha256.Size]byte]struct{}{}
	}
	r.current[HashToken(name)] = struct{}{}
}

// Remove deletes a name, and reports whether the set contained it.
func (r *Recent) Remove(name string) bool {
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
