package prompt

import (
	"cmp"
	"slices"
	"time"
)

// Compare orders the receipts of one session for delivery: the one in delivery first, then by
// priority, then by place: the order of acceptance, unless a person has moved one.
func Compare(a, b *Receipt) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.place(), b.place()), cmp.Compare(a.Seq, b.Seq))
}

// rank returns 0 for a prompt in delivery and 1 for any other.
func (r *Receipt) rank() int {
	if r.State == Injected {
		return 0
	}
	return 1
}

// place returns the place of the prompt among those of its priority.
func (r *Receipt) place() float64 {
	if r.Place != 0 {
		return r.Place
	}
	return float64(r.Seq)
}

// PlaceBefore returns the place that moves the queued prompt id before the prompt next of the same queue and priority; an empty
// next means behind all of its priority. Only this one receipt changes, so a move is one save. It returns false if next is not
// queued with that priority, or if there is no number between its neighbors, after some thirty moves to the same place.
func PlaceBefore(receipts []*Receipt, id, next string) (float64, bool) {
	i := slices.IndexFunc(receipts, func(r *Receipt) bool { return r.ID == id })
	if i < 0 {
		return 0, false
	}
	var row []*Receipt // the others of its priority, in order
	newest := receipts[i].Seq
	for _, r := range Queue(receipts) {
		newest = max(newest, r.Seq)
		if r.ID != id && r.IsQueued() && r.Priority == receipts[i].Priority {
			row = append(row, r)
		}
	}
	at := len(row)
	if next != "" {
		if at = slices.IndexFunc(row, func(r *Receipt) bool { return r.ID == next }); at < 0 {
			return 0, false
		}
	}
	if len(row) == 0 {
		return receipts[i].place(), true
	}
	low, high := row[0].place()-2, float64(newest)+1 // a prompt that is accepted later has a greater Seq
	if at > 0 {
		low = row[at-1].place()
	}
	if at < len(row) {
		high = row[at].place()
	}
	between := low + (high-low)/2
	if between == 0 {
		between = low / 2 // zero means that the prompt was not moved
	}
	return between, low < between && between < high
}

// IsQueued reports whether the prompt is in the queue, so that it can still be changed or
// withdrawn.
func (r *Receipt) IsQueued() bool { return r.State == Accepted || r.State == Queued }

// Queue returns the queued and injected receipts of one session in the order of delivery.
func Queue(receipts []*Receipt) []*Receipt {
	open := slices.DeleteFunc(slices.Clone(receipts), func(r *Receipt) bool { return !r.IsQueued() && r.State != Injected })
	slices.SortFunc(open, Compare)
	return open
}

// Position returns the position of the receipt in the queue of its session: 1 is the next one, 0
// means not in the queue.
func Position(receipts []*Receipt, id string) int {
	i := slices.IndexFunc(receipts, func(r *Receipt) bool { return r.ID == id })
	if i < 0 || !receipts[i].IsQueued() {
		return 0
	}
	place := 1
	for _, r := range receipts {
		if r.IsQueued() && Compare(r, receipts[i]) < 0 {
			place++
		}
	}
	return place
}

const (
	// DefaultProgress is how long a delivery may make no progress by default, from its first byte.
	// After that the prompt is in the queue again or has a final state.
	DefaultProgress = time.Minute
	// progressRate is the minimum rate, in bytes per second, at which an agent reads a text. A
	// longer text gets more time accordingly.
	progressRate = 8 << 10
	// cancelBound is the maximum time until a prompt that was cancelled during its delivery has a
	// final state.
	cancelBound = 20 * time.Second
	// ConsumeBound is the maximum time that a submitted prompt waits for evidence that a turn
	// worked on it.
	ConsumeBound = 24 * time.Hour
)

// Bound returns the maximum duration of the delivery of the prompt: the time that a delivery may go without progress, where
// zero means [DefaultProgress], plus the time that the agent needs to read the text.
func (r Receipt) Bound(withoutProgress time.Duration) time.Duration {
	if withoutProgress <= 0 {
		withoutProgress = DefaultProgress
	}
	return withoutProgress + time.Duration(r.Bytes)*time.Second/progressRate
}

// Limit returns the time by which the receipt must have left its current state; zero for a final
// state. For a delivery that an earlier controller began, the time counts from s.WatchedFrom.
func (r Receipt) Limit(s Observation) time.Time {
	switch r.State {
	case Accepted, Queued:
		return r.ExpiresAt
	case Injected:
		limit := later(r.enteredAt(Injected), s.WatchedFrom).Add(r.Bound(s.Progress))
		if r.CancelAt.IsZero() {
			return limit
		}
		if cancelled := later(r.CancelAt, s.WatchedFrom).Add(cancelBound); cancelled.Before(limit) {
			return cancelled
		}
		return limit
	case Submitted:
		return r.enteredAt(Submitted).Add(ConsumeBound)
	default:
		return time.Time{}
	}
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const (
	firstBackoff    = 200 * time.Millisecond
	maxBackoff      = 15 * time.Second
	blockedBackoff  = time.Minute
	sentBackoff     = time.Second
	attachedBackoff = 2 * time.Second
)

// Backoff returns how long to wait for the next attempt after the given number of refused attempts, from 1. It doubles each time.
// While a terminal is attached it stays at most [attachedBackoff], because gc gets no signal when a person sends a draft or stops
// typing.
func Backoff(attempts, attached int) time.Duration {
	return backoff(attempts, attached, maxBackoff)
}

// backoff returns the same as [Backoff], but at most limit.
func backoff(attempts, attached int, limit time.Duration) time.Duration {
	if attached > 0 {
		limit = attachedBackoff
	}
	wait := firstBackoff
	for range attempts - 1 {
		if wait *= 2; wait >= limit {
			return limit
		}
	}
	return wait
}
