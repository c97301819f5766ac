package prompt

import (
	"cmp"
	"slices"
	"time"
)

// Compare orders receipts of one session as they are delivered: what is being
// handed over, then by priority, then as they were accepted.
func Compare(a, b *Receipt) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Seq, b.Seq))
}

func (r *Receipt) rank() int {
	if r.State == Injected {
		return 0
	}
	return 1
}

// IsQueued reports whether the prompt is in the queue: it can still be changed or
// withdrawn.
func (r *Receipt) IsQueued() bool { return r.State == Accepted || r.State == Queued }

// Queue returns those of the receipts of one session that are on their way to the
// agent, in the order of delivery.
func Queue(receipts []*Receipt) []*Receipt {
	open := slices.DeleteFunc(slices.Clone(receipts), func(r *Receipt) bool { return !r.IsQueued() && r.State != Injected })
	slices.SortFunc(open, Compare)
	return open
}

// Position returns the place of the receipt in the queue of its session: 1 is the
// next one. 0 is not in the queue.
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
	// DefaultProgress is how long a delivery may go without progress by default, from its
	// first byte: then the prompt is in the queue again or has a final state.
	DefaultProgress = time.Minute
	// progressRate is how many bytes of a text an agent reads in a second at least: a long
	// text has that much more time.
	progressRate = 8 << 10
	// cancelBound is how long a prompt that was cancelled during its delivery may take to
	// reach a final state.
	cancelBound = 20 * time.Second
	// ConsumeBound is how long a submitted prompt may wait for a sign that a turn
	// worked on it.
	ConsumeBound = 24 * time.Hour
)

// Bound returns how long the delivery of the receipt's text may take if progress is how long
// one may go without progress; zero is DefaultProgress.
func (r Receipt) Bound(progress time.Duration) time.Duration {
	if progress <= 0 {
		progress = DefaultProgress
	}
	return progress + time.Duration(r.Bytes)*time.Second/progressRate
}

// Limit returns the time by which the receipt has left its state, whatever happens; zero for a
// final one. A delivery that an earlier controller began has the same time again from
// when this one could first ask about it.
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

// Backoff returns how long to wait after an attempt that was refused, the attempts
// counted from 1. While a person is attached it stays short: a draft is sent, or a
// person stops typing, without any other sign.
func Backoff(attempts, attached int) time.Duration {
	return backoff(attempts, attached, maxBackoff)
}

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
