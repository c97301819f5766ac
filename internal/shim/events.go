package shim

import (
	"encoding/json"
	"net/http"
	"time"

	"gascity/internal/httpwire"
)

// events streams the events of the session; the first event is the current state. The stream ends when the shim exits or when
// the client reads too slowly.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	h := s.host
	ch := h.events.subscribe()
	defer h.events.unsubscribe(ch)
	h.mu.Lock()
	first := Event{Kind: EventState, Time: time.Now(), Exit: h.exit, Attached: h.attachedLocked(), Text: h.signsLocked().Status.Text}
	if h.exit != nil {
		h.expireLocked(time.Second)
	}
	h.mu.Unlock()
	w.Header().Set("Content-Type", httpwire.EventStream)
	out := httpwire.NewStreamWriter(w, httpwire.MaxStall)
	for event := first; ; {
		text, err := json.Marshal(event)
		if err != nil {
			return
		}
		if out.Event(0, "", text); out.Err() != nil {
			return
		}
		var open bool
		select {
		case event, open = <-ch:
			if !open {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
