package workerapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"gascity/internal/run"
	"gascity/worker"
)

// stream is the binding of GET /stream.
func stream() binding { return binding{serve: serveStream} }

// serveStream writes a run's messages until its end, to one worker at a time.
func serveStream(s *Server, row route, who run.Caller, w http.ResponseWriter, r *http.Request) error {
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
	leave, err := s.seats.take(ctx, id)
	if err != nil {
		return late(ctx, err)
	}
	defer leave()
	items, err := s.city.Stream(ctx, id, after)
	if err != nil {
		return late(ctx, err)
	}
	out := &sse{w: w, control: http.NewResponseController(w), stall: s.stall}
	out.follow(items, cancel, s.heartbeat)
	return nil
}

// sse writes server-sent events. After a failed write it writes no more.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	err     error
}

// follow writes until the city ends the stream. A reader that is gone, or does not
// take what is sent in time, ends it by stop.
func (out *sse) follow(items <-chan run.Item, stop func(), pulse time.Duration) {
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
	for range items { // the city closes it
	}
}

func (out *sse) item(i run.Item) {
	switch {
	case i.Message != nil:
		out.data(string(i.Message.Kind), i.Message.Seq, i.Message)
	case i.Gap != nil:
		out.data(worker.GapEvent, 0, i.Gap)
	case i.End:
		out.data(worker.EndEvent, 0, struct{}{})
	case i.Lagged:
		out.data(worker.LaggedEvent, 0, struct{}{})
	}
}

// data writes one event; an id of zero is left out, so that the reader keeps the one
// it has.
func (out *sse) data(kind string, id uint64, value any) {
	text, err := json.Marshal(value) // one line: JSON escapes line ends
	if err != nil {
		out.err = err
		return
	}
	if id != 0 {
		out.print("id: %d\nevent: %s\ndata: %s\n\n", id, kind, text)
		return
	}
	out.print("event: %s\ndata: %s\n\n", kind, text)
}

// print sends at once, and cuts off a reader that does not take it in time.
func (out *sse) print(format string, args ...any) {
	if out.err != nil {
		return
	}
	if err := out.control.SetWriteDeadline(time.Now().Add(out.stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		out.err = err
		return
	}
	if _, out.err = fmt.Fprintf(out.w, format, args...); out.err == nil {
		out.err = out.control.Flush()
	}
}
