package workerrun

import "crypto/sha256"

// maxRecent is how many names a [Recent] keeps at least; it keeps at most twice as many.
const maxRecent = 256

// Recent is a set of names that keeps the newest ones, in bounded memory however long
// they are. The zero value is empty. It is not safe for concurrent use.
type Recent struct {
	young, old map[[sha256.Size]byte]struct{}
}

// Add takes up a name. What was added long before it may go.
func (r *Recent) Add(name string) {
	if r.young == nil || len(r.young) >= maxRecent {
		r.old, r.young = r.young, map[[sha256.Size]byte]struct{}{}
	}
	r.young[Fold(name)] = struct{}{}
}

// Take takes a name out, and reports whether it was there.
func (r *Recent) Take(name string) bool {
	if len(r.young)+len(r.old) == 0 {
		return false
	}
	key := Fold(name)
	_, young := r.young[key]
	_, old := r.old[key]
	delete(r.young, key)
	delete(r.old, key)
	return young || old
}
