package workertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"gascity/worker"
)

// queuedItem waits for the worker: a message, or an event that is written once.
type queuedItem struct {
	worker.Message

	event string // for an event: all its lines
	last  bool   // the stream ends after it
}

// Gap reports to the worker, once, that it missed messages.
func (c *City) Gap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq += 10
	c.open = append(c.open, queuedItem{Message: worker.Message{Seq: c.seq}, event: fmt.Sprintf("event: %s\ndata: {\"from\":%d,\"next\":%d}\n\n", worker.GapEvent, c.seq-9, c.seq+1)})
	c.changeLocked()
}

// Lag closes the worker's stream as if the worker were too slow.
func (c *City) Lag() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	c.open = append(c.open, queuedItem{Message: worker.Message{Seq: c.seq}, event: "event: " + worker.LaggedEvent + "\ndata: {}\n\n", last: true})
	c.changeLocked()
}

// Age makes the city behave like a later version: it sends unknown members and unknown stream lines.
func (c *City) Age() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newer = true
}

// withMembers adds members to an object.
func withMembers(object []byte) []byte {
	if len(object) < 2 || object[0] != '{' {
		return object
	}
	more := []byte(`{"unknown_member":{"a":[1,null,"x"]}`)
	if object[1] != '}' {
		more = append(more, ',')
	}
	return append(more, object[1:]...)
}

// stream writes the messages that are not acknowledged, then new ones, until the stream is cut.
func (c *City) stream(w http.ResponseWriter, r *http.Request) {
	if c.refused(w, r) {
		return
	}
	after, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil {
		after = 0
	}
	c.mu.Lock()
	cut := c.cut
	for i := range c.open {
		c.seq++
		c.open[i].Seq = c.seq
	}
	c.mu.Unlock()
	c.recordWord(Word{Path: streamPath, Body: map[string]any{"after": strconv.FormatUint(after, 10)}})
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": a simulated city\n\n")
	for last, more := uint64(0), true; more; {
		c.mu.Lock()
		changed, over := c.changed, c.over
		text, end := c.unwrittenLocked(&last)
		c.mu.Unlock()
		if _, err := w.Write(text); err != nil {
			return
		}
		if over {
			fmt.Fprintf(w, "event: %s\ndata: {}\n\n", worker.EndEvent)
		}
		if over || end || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-cut:
			more = false
		case <-r.Context().Done():
			more = false
		}
	}
}

// unwrittenLocked returns the items after the number last, and sets last. end reports that the
// stream ends with them.
func (c *City) unwrittenLocked(last *uint64) (out []byte, end bool) {
	kept := c.open[:0:0]
	for _, l := range c.open {
		if l.event == "" || l.Seq <= *last || end {
			kept = append(kept, l)
		}
		if l.Seq <= *last || end {
			continue
		}
		*last = l.Seq
		if l.event != "" {
			out, end = append(out, l.event...), l.last
			continue
		}
		text, _ := json.Marshal(l.Message) // every value came from JSON
		if c.newer {
			text = withMembers(text)
			out = append(out, ": a comment\nretry: 20\nunknown: field\n"...)
		}
		out = fmt.Appendf(out, "id: %d\nevent: %s\ndata: %s\n\n", l.Seq, l.Kind, text)
	}
	c.open = kept
	return out, end
}
