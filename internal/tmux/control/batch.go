package control

import (
	"context"
	"sync/atomic"
)

// batch collects the replies of one call of Do.
type batch struct {
	// done is closed when all replies are there.
	done chan struct{}
	// replies are written by the reader of the connection, each once, before done is closed.
	replies []Reply
	left    atomic.Int64
	// reminds: it is a reminder, and no sign that something goes on. Constant once sent.
	reminds bool
}

func newBatch(size int) *batch {
	b := &batch{done: make(chan struct{}), replies: make([]Reply, size)}
	b.left.Store(int64(size))
	return b
}

// complete stores a reply. A nil batch has no waiter.
func (b *batch) complete(index int, reply Reply) {
	if b == nil {
		return
	}
	b.replies[index] = reply
	if b.left.Add(-1) == 0 {
		close(b.done)
	}
}

// answered reports whether all replies are there.
func (b *batch) answered() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// wait returns the replies and the first of their errors.
func (b *batch) wait(ctx context.Context) ([]Reply, error) {
	select {
	case <-b.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for _, reply := range b.replies {
		if reply.Err != nil {
			return b.replies, reply.Err
		}
	}
	return b.replies, nil
}
