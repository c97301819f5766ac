package tmuxctl

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
}

func newBatch(size int) *batch {
	b := &batch{done: make(chan struct{}), replies: make([]Reply, size)}
	b.left.Store(int64(size))
	return b
}

// settle stores a reply. A nil batch is one that nobody waits for.
func (b *batch) settle(index int, reply Reply) {
	if b == nil {
		return
	}
	b.replies[index] = reply
	if b.left.Add(-1) == 0 {
		close(b.done)
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
