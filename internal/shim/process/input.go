package process

import (
	"bytes"
	"context"
	"os"
	"sync"
	"time"
)

// maxReplies bounds the answers to terminal queries that wait to be read.
const maxReplies = 64 << 10

// Input writes to the agent's input, one piece after another. A piece is
// never interrupted by another; answers to terminal queries go in between.
type Input struct {
	ctx     context.Context //nolint:containedctx // the life of the shim, for writing replies
	out     *os.File
	turn    chan struct{} // holds one token: its owner writes
	pending chan struct{} // wakes the goroutine that writes replies

	torn bool // the last piece was a paste that did not end; who has the turn may touch it

	mu      sync.Mutex
	replies []byte
	closed  bool
}

// The marks of a bracketed paste.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// Input returns the way into the agent. Close ends its goroutine.
func (s *Streams) Input(ctx context.Context) *Input {
	q := &Input{ctx: ctx, out: s.in, turn: make(chan struct{}, 1), pending: make(chan struct{}, 1)}
	q.turn <- struct{}{}
	go q.answer()
	return q
}

// finishLimit is how long a paste that was begun may still take when no caller
// waits for it any more. Half a prompt is worse than a whole one.
const finishLimit = 2 * time.Second

// Write writes p in one piece and returns how much was taken. When ctx ends before
// the piece is begun, nothing of it is sent; later, the rest is not, of a paste
// what is not taken within two seconds. A paste that is cut off so is ended before
// the next piece: to the program everything after it would be pasted, too.
func (q *Input) Write(ctx context.Context, p []byte) (int, error) {
	return q.WriteNext(ctx, func() ([]byte, error) { return p, nil })
}

// WriteNext is Write of what next returns when it is its turn. What next notes has the
// order of what is sent. An error of it is returned, and nothing is sent.
func (q *Input) WriteNext(ctx context.Context, next func() ([]byte, error)) (int, error) {
	select {
	case <-q.turn:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	defer func() { q.turn <- struct{}{} }()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	p, err := next()
	if err != nil {
		return 0, err
	}
	patience := time.Duration(0)
	if bytes.HasPrefix(p, []byte(pasteBegin)) {
		patience = finishLimit
	}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		_ = q.out.SetWriteDeadline(time.Now().Add(patience))
	})
	n, err := q.writePiece(p)
	if !stop() {
		<-woken
		_ = q.out.SetWriteDeadline(time.Time{}) // the next writer starts afresh
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return n, err
}

// writePiece writes p, after the end of a torn paste. Called by who has the turn.
func (q *Input) writePiece(p []byte) (int, error) {
	if q.torn {
		if _, err := q.out.WriteString(pasteEnd); err != nil {
			return 0, err
		}
		q.torn = false
	}
	n, err := q.out.Write(p)
	q.torn = n > 0 && n < len(p) && bytes.HasPrefix(p, []byte(pasteBegin))
	return n, err
}

// Reply queues the answer to a query. It never blocks: the program may be
// writing while it does not read.
func (q *Input) Reply(p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.replies)+len(p) > maxReplies {
		return
	}
	q.replies = append(q.replies, p...)
	select {
	case q.pending <- struct{}{}:
	default:
	}
}

func (q *Input) answer() {
	for range q.pending {
		q.mu.Lock()
		p := q.replies
		q.replies = nil
		q.mu.Unlock()
		if len(p) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(q.ctx, 5*time.Second)
		_, _ = q.Write(ctx, p) // a program that asks and does not read gets no answer
		cancel()
	}
}

// Close ends the replies. A write that waits ends when the streams are closed.
func (q *Input) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.pending)
	}
}
