package shim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// events streams the events of the session; the first event is the current state. The stream ends when the shim exits or when
// the client reads too slowly.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	h := s.host
	ch := h.events.subscribe()
	defer h.events.unsubscribe(ch)
	h.mu.Lock()
	first := Event{Kind: EventState, Time: time.Now(), Exit: h.exit, Attached: len(h.viewers), Text: h.signsLocked().Status.Text}
	if h.exit != nil {
		h.expireLocked(time.Second)
	}
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for event := first; ; {
		body, err := json.Marshal(event)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", body); err != nil {
			return
		}
		if err := flush.Flush(); err != nil {
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
