package workerapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"gascity/internal/domain/workerrun"
	"gascity/worker"
)

// stream returns the binding of GET /stream.
func stream() binding { return binding{serve: serveStream} }

// serveStream writes a run's messages until the stream ends. A run has one stream at a time.
func serveStream(s *Server, row route, who workerrun.Caller, w http.ResponseWriter, r *http.Request) error {
	id := r.URL.Query().Get("run_id")
	if id == "" {
		id = who.Run
	}
	if err := row.may(who, id); err != nil {
		return err
	}
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	after, err := number(text)
	if err != nil {
		return err
	}
	ctx, cancel := s.bound(r, row)
	defer cancel()
	leave, err := s.streams.acquire(ctx, id)
	if err != nil {
		return timeoutError(ctx, err)
	}
	defer leave()
	items, err := s.city.Stream(ctx, id, after)
	if err != nil {
		return timeoutError(ctx, err)
	}
	out := &sse{w: w, control: http.NewResponseController(w), stall: s.stall}
	out.follow(items, cancel, s.heartbeat)
	return nil
}

// sse writes server-sent events. After a failed write it writes nothing more.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration // how long one write may wait for the reader
	err     error
}

// follow writes items until the city closes the stream. If a write fails, because the reader is
// gone or too slow, it calls stop, which makes the city close the stream.
func (out *sse) follow(items <-chan workerrun.Item, stop func(), pulse time.Duration) {
	out.w.Header().Set("Content-Type", "text/event-stream")
	out.print(": the stream of a run\n\n")
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for out.err == nil {
		select {
		case i, open := <-items:
			if !open {
				return
			}
			out.item(i)
		case <-beat.C:
			out.print(": heartbeat\n\n")
		}
	}
	stop()
	for range items { // wait until the city closes the channel
	}
}

// item writes one item.
func (out *sse) item(i workerrun.Item) {
	switch {
	case i.Message != nil:
		out.message(*i.Message)
	case i.Gap != nil:
		out.data(worker.GapEvent, i.Gap)
	case i.End:
		out.data(worker.EndEvent, struct{}{})
	case i.Lagged:
		out.data(worker.LaggedEvent, struct{}{})
	}
}

// data writes an event without a number, so that the reader keeps its last number.
func (out *sse) data(kind string, value any) {
	text, err := json.Marshal(value) // one line: JSON escapes line ends
	if err != nil {
		out.err = err
		return
	}
	out.print("event: %s\ndata: %s\n\n", kind, text)
}

// message writes a message in the form of encoding/json. It does not copy the message's data, which
// may be large and slow to send.
func (out *sse) message(m worker.Message) {
	data := m.Data
	m.Data = nil
	text, err := json.Marshal(m)
	if err != nil {
		out.err = err
		return
	}
	head := fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s", m.Seq, m.Kind, text[:len(text)-1])
	if len(data) > 0 {
		head = append(head, `,"data":`...)
	}
	out.send(head, data, []byte("}\n\n"))
}

// print formats and writes a text.
func (out *sse) print(format string, args ...any) { out.send(fmt.Appendf(nil, format, args...)) }

// maxPiece is the size of one write in bytes. The reader must receive each piece within the time
// limit.
const maxPiece = 8 << 10

// send writes texts in pieces. It fails if the reader does not receive a piece in time.
func (out *sse) send(texts ...[]byte) {
	for _, text := range texts {
		for piece := range slices.Chunk(text, maxPiece) {
			out.setWriteDeadline()
			if out.err == nil {
				_, out.err = out.w.Write(piece)
			}
		}
	}
	out.setWriteDeadline()
	if out.err == nil {
		out.err = out.control.Flush()
	}
}

// setWriteDeadline sets the time limit of the next write.
func (out *sse) setWriteDeadline() {
	if out.err != nil {
		return
	}
	if err := out.control.SetWriteDeadline(time.Now().Add(out.stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		out.err = err
	}
}
