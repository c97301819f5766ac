package workerrun

import "crypto/sha256"

// maxRecent is how many names a [Recent] keeps at least; it keeps at most twice as many.
const maxRecent = 256

// Recent is a set of names that keeps the newest ones, in bounded memory however long
// they are. The zero value is empty. It is not safe for concurrent use.
type Recent struct {
	current, previous map[[sha256.Size]byte]struct{}
}

// Add takes up a name. What was added long before it may go.
func (r *Recent) Add(name string) {
	if r.current == nil || len(r.current) >= maxRecent {
		r.previous, r.current = r.current, map[[sha256.Size]byte]struct{}{}
	}
	r.current[HashToken(name)] = struct{}{}
}

// Remove takes a name out, and reports whether it was there.
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
