package workerapi

import (
	"encoding/json"
	"net/http"

	"gascity/internal/domain/session"
	"gascity/internal/httpwire"
	"gascity/worker"
)

// stream returns the binding of the route GET /stream.
func stream() binding { return binding{serve: serveStream} }

// serveStream writes a run's messages until the stream ends. A run has one stream at a time.
func serveStream(s *Server, row route, who session.RunCaller, w http.ResponseWriter, r *http.Request) error {
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
	ctx, cancel := s.Bound(r.Context(), row.limit)
	defer cancel()
	leave, err := s.streams.acquire(ctx, id)
	if err != nil {
		return s.errorOf(ctx, err)
	}
	defer leave()
	items, err := s.city.Stream(ctx, id, after)
	if err != nil {
		return s.errorOf(ctx, err)
	}
	w.Header().Set("Content-Type", httpwire.EventStream)
	out := httpwire.NewStreamWriter(w, s.Stall)
	out.Comment("the stream of a run")
	httpwire.Follow(out, items, func(i session.StreamItem) { s.send(out, i) }, cancel, s.Heartbeat)
	return nil
}

// send writes one item to the stream of a run: a message with its number, a gap, or the reason why
// the stream ends.
func (s *Server) send(out *httpwire.StreamWriter, i session.StreamItem) {
	var text []byte
	var err error
	switch {
	case i.Message != nil:
		m := *i.Message
		m.Data = nil // it may be large and slow to send, so it is not copied
		if text, err = json.Marshal(m); err == nil {
			out.Event(m.Seq, string(m.Kind), withData(text, i.Message.Data)...)
		}
	case i.Gap != nil:
		if text, err = json.Marshal(i.Gap); err == nil {
			out.Event(0, worker.GapEvent, text)
		}
	case i.End:
		out.Event(0, worker.EndEvent, []byte("{}"))
	case i.Lagged:
		out.Event(0, worker.LaggedEvent, []byte("{}"))
	}
	if err != nil {
		s.Log.Warn("a message cannot be sent", "error", err)
	}
}

// withData returns the parts of the JSON text of a message. message is that text without the field
// data. The parts are written one after the other, so that a large data field is not copied.
func withData(message, data []byte) [][]byte {
	if len(data) == 0 {
		return [][]byte{message}
	}
	return [][]byte{message[:len(message)-1], []byte(`,"data":`), data, []byte("}")}
}
