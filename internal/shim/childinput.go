package shim

import (
	"bytes"
	"context"
	"os"
	"sync"
	"time"

	"gascity/internal/terminal/vt"
)

// maxReplies bounds the bytes of answers to terminal queries that wait to be written.
const maxReplies = 64 << 10

// childInput writes to the agent's input, one piece after another. Pieces are never mixed; answers to terminal queries are written
// between them.
type childInput struct {
	ctx     context.Context //nolint:containedctx // ends with the shim; for writing replies
	out     *os.File
	turn    chan struct{} // holds one token: only its owner may write
	pending chan struct{} // wakes the goroutine that writes replies

	torn bool // the last piece was a paste that was cut off; guarded by turn

	mu      sync.Mutex
	replies []byte
	closed  bool
}

// Input returns a writer to the agent's input and starts its goroutine for replies. Close stops the goroutine.
func (s *childStreams) Input(ctx context.Context) *childInput {
	q := &childInput{ctx: ctx, out: s.in, turn: make(chan struct{}, 1), pending: make(chan struct{}, 1)}
	q.turn <- struct{}{}
	go q.answer()
	return q
}

// finishLimit is how long a paste that was begun may continue after its context has ended. A whole prompt is better than half
// of one.
const finishLimit = 2 * time.Second

// WriteNext waits for its turn, calls next, writes the bytes that next returns in one piece, and returns how many were written. next
// can record the piece, because calls of next have the order of the writes. If next returns an error, WriteNext returns it and
// writes nothing. If ctx ends before the piece is begun, nothing is written. If ctx ends later, writing stops at once; for a paste
// it stops after finishLimit. The end sequence of a paste that was cut off is written before the next piece, else the program
// would read that piece as part of the paste.
func (q *childInput) WriteNext(ctx context.Context, next func() ([]byte, error)) (int, error) {
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
	if bytes.HasPrefix(p, []byte(vt.PasteStart)) {
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
		_ = q.out.SetWriteDeadline(time.Time{}) // remove the deadline for the next writer
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return n, err
}

// writePiece writes p; if the last paste was cut off, it first writes the end of that paste. The caller must own the right to write.
func (q *childInput) writePiece(p []byte) (int, error) {
	if q.torn {
		if _, err := q.out.WriteString(vt.PasteEnd); err != nil {
			return 0, err
		}
		q.torn = false
	}
	n, err := q.out.Write(p)
	q.torn = n > 0 && n < len(p) && bytes.HasPrefix(p, []byte(vt.PasteStart))
	return n, err
}

// Reply queues the answer to a terminal query and returns at once: the program may not read its input while it writes output.
func (q *childInput) Reply(p []byte) {
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

// answer writes queued replies until Close.
func (q *childInput) answer() {
	for range q.pending {
		q.mu.Lock()
		p := q.replies
		q.replies = nil
		q.mu.Unlock()
		if len(p) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(q.ctx, 5*time.Second)
		_, _ = q.WriteNext(ctx, func() ([]byte, error) { return p, nil }) // a program that does not read gets no answer
		cancel()
	}
}

// Close stops the writing of replies. A blocked write returns when the streams are closed.
func (q *childInput) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.pending)
	}
}
