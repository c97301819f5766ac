package httpwire

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// MaxStall is how long one write to a stream may wait for its reader.
const MaxStall = 10 * time.Second

// maxPiece is the size of one write in bytes. The reader must receive each piece within the time
// limit.
const maxPiece = 8 << 10

// StreamWriter writes an answer without an end. It sends each write at once. After a failed write it
// writes nothing more.
type StreamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	err     error
}

// NewStreamWriter returns a StreamWriter for an answer. Stall is how long the reader may take to
// receive 8 KiB.
func NewStreamWriter(w http.ResponseWriter, stall time.Duration) *StreamWriter {
	return &StreamWriter{w: w, control: http.NewResponseController(w), stall: stall}
}

// Err returns the error of the first write that failed.
func (s *StreamWriter) Err() error { return s.err }

// Write implements io.Writer.
func (s *StreamWriter) Write(p []byte) (int, error) {
	s.send(p)
	if s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

// Comment writes a comment of the text/event-stream format.
func (s *StreamWriter) Comment(text string) { s.send(fmt.Appendf(nil, ": %s\n\n", text)) }

// Event writes a server-sent event. An ID of zero and an empty name are left out. Without an ID the
// reader keeps its last one.
// The data must be JSON on one line; its parts are written one after the other, without a copy.
func (s *StreamWriter) Event(id uint64, kind string, data ...[]byte) {
	var head []byte
	if id != 0 {
		head = fmt.Appendf(head, "id: %d\n", id)
	}
	if kind != "" {
		head = fmt.Appendf(head, "event: %s\n", kind)
	}
	head = append(head, "data: "...)
	s.send(slices.Concat([][]byte{head}, data, [][]byte{[]byte("\n\n")})...)
}

// send writes texts in pieces, and then flushes.
func (s *StreamWriter) send(texts ...[]byte) {
	for _, text := range texts {
		for piece := range slices.Chunk(text, maxPiece) {
			s.setDeadline()
			if s.err == nil {
				_, s.err = s.w.Write(piece)
			}
		}
	}
	s.setDeadline()
	if s.err == nil {
		s.err = s.control.Flush()
	}
}

// setDeadline sets the time limit of the next write.
func (s *StreamWriter) setDeadline() {
	if s.err != nil {
		return
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(s.stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		s.err = err
	}
}

// Follow writes items until the channel is closed, with a heartbeat between them. If a write fails,
// because the reader is gone or too slow, it calls stop, which must make the sender close the
// channel, and waits for that.
func Follow[T any](s *StreamWriter, items <-chan T, write func(T), stop func(), heartbeat time.Duration) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for s.err == nil {
		select {
		case item, open := <-items:
			if !open {
				return
			}
			write(item)
		case <-beat.C:
			s.Comment("heartbeat")
		}
	}
	stop()
	for range items { // wait until the channel is closed
	}
}
