package tmuxserver

import (
	"context"
	"sync/atomic"
)

// batch collects the replies of one call of Do.
type batch struct {
	// done is closed when the batch has all replies.
	done chan struct{}
	// replies are written by the reader of the connection, each once, before done is closed.
	replies []Reply
	left    atomic.Int64 // the number of missing replies
	// keepAlive: the batch is a keep-alive command, which does not count as activity. Constant once sent.
	keepAlive bool
}

// newBatch returns a batch that waits for size replies.
func newBatch(size int) *batch {
	b := &batch{done: make(chan struct{}), replies: make([]Reply, size)}
	b.left.Store(int64(size))
	return b
}

// complete stores the reply with the given index. On a nil batch it does nothing.
func (b *batch) complete(index int, reply Reply) {
	if b == nil {
		return
	}
	b.replies[index] = reply
	if b.left.Add(-1) == 0 {
		close(b.done)
	}
}

// answered reports whether the batch has all replies.
func (b *batch) answered() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// wait waits for all replies and returns them with the first of their errors. It returns the cause of ctx if ctx ends
// first.
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
