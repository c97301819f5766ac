package controlapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gascity/client"
	"gascity/internal/httpwire"
)

// maxLag is how many events may wait for a reader before it is disconnected. The reader then
// resumes, and receives a gap if events were deleted meanwhile.
const maxLag = 1024

// pastInput selects the events of a page.
type pastInput struct {
	After  uint64    `query:"after" doc:"the id of the last event that the reader has; 0: none"`
	Since  time.Time `query:"since" doc:"only events from then on"`
	Target string    `query:"target" maxLength:"1024" doc:"only events of the agent or session of this name"`
}

// pastEvents returns the stored events that the query selects.
func pastEvents(parent context.Context, city City, in *pastInput) (client.EventPage, error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	q := client.EventQuery(*in)
	after, err := since(ctx, city, q)
	if err != nil {
		return client.EventPage{}, err
	}
	past, gap, _, err := city.Events(ctx, after)
	page := client.EventPage{Events: selectEvents(past, q), Gap: gap, Last: after}
	if gap {
		page.Last = 0
	}
	if len(past) > 0 {
		page.Last = past[len(past)-1].ID
	}
	return page, err
}

// since returns the ID after which all events of the query come. The events after it may include
// others, which are older than q.Since.
func since(ctx context.Context, city City, q client.EventQuery) (uint64, error) {
	if q.Since.IsZero() {
		return q.After, nil
	}
	older, err := city.Since(ctx, q.Since)
	return max(q.After, older), err
}

// selectEvents returns the events that match the time and the target of the query.
func selectEvents(past []client.Event, q client.EventQuery) []client.Event {
	kept := make([]client.Event, 0, len(past))
	for _, e := range past {
		if matches(e, q) {
			kept = append(kept, e)
		}
	}
	return kept
}

// matches reports whether an event matches the time and the target of the query. It checks each
// event, because the times of events are not in order if the clock was set back.
func matches(e client.Event, q client.EventQuery) bool {
	return !e.Time.Before(q.Since) && (q.Target == "" || e.Agent == q.Target || e.Session == q.Target)
}

// eventsParameters describes the parameters of [events].
func eventsParameters() []*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	return []*huma.Param{
		{Name: "Last-Event-ID", In: "header", Schema: text, Description: "the id of the last event that the reader has"},
		{Name: "after", In: "query", Schema: text, Description: "same as Last-Event-ID, for readers that cannot set a header"},
		timeParameter("since", "only events from then on"),
		{Name: "target", In: "query", Schema: text, Description: "only events of the agent or session of this name"},
	}
}

// events writes the event stream as server-sent events.
func events(parent context.Context, s *Server, w http.ResponseWriter, r *http.Request) error {
	after, err := lastEventID(r)
	if err != nil {
		return err
	}
	from, err := timeOf(r, "since")
	if err != nil {
		return err
	}
	q := client.EventQuery{After: after, Since: from, Target: r.FormValue("target")}
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	if after, err = since(ctx, s.city, q); err != nil {
		return err
	}
	past, gap, next, err := s.city.Events(ctx, after)
	if err != nil {
		return err
	}
	out := eventWriter{StreamWriter: httpwire.NewStreamWriter(w, s.Stall), server: s}
	out.Comment("the event stream")
	if gap {
		lost := client.GapError{After: after}
		if len(past) > 0 {
			lost.Next = past[0].ID
		}
		out.data("gap", 0, lost)
	}
	for _, e := range selectEvents(past, q) {
		out.event(e)
	}
	kept := queue(ctx, next)
	lagged := false
	live := client.EventQuery{Target: q.Target}
	httpwire.Follow(out.StreamWriter, kept, func(e client.Event) {
		if matches(e, live) {
			out.event(e)
		}
	}, func() { lagged = len(kept) == maxLag; cancel() }, s.Heartbeat)
	if lagged || errors.Is(out.Err(), os.ErrDeadlineExceeded) {
		s.Log.Warn("a slow reader of the event stream was cut off")
	}
	return nil
}

// queue returns a channel that holds at most [maxLag] events for a reader, so that the city never
// waits for the reader. The channel is closed when next is closed, when ctx ends, or when the
// reader is too slow.
func queue(ctx context.Context, next <-chan client.Event) <-chan client.Event {
	kept := make(chan client.Event, maxLag)
	go func() { // events waits for the end of this goroutine: it reads kept until that is closed
		defer close(kept)
		for {
			select {
			case <-ctx.Done():
				return
			case e, open := <-next:
				if !open || len(kept) == maxLag {
					return
				}
				kept <- e
			}
		}
	}()
	return kept
}

// lastEventID returns the ID after which the stream starts: from the header Last-Event-ID, or from
// the parameter "after".
func lastEventID(r *http.Request) (uint64, error) {
	text := cmp.Or(r.Header.Get("Last-Event-ID"), r.FormValue("after"), "0")
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: event id %q is not a number", client.ErrInvalid, text)
	}
	return id, nil
}

// eventWriter writes events with secrets masked.
type eventWriter struct {
	*httpwire.StreamWriter
	server *Server
}

// event writes one event to the stream.
func (w eventWriter) event(e client.Event) { w.data("event", e.ID, e) }

// data writes one value. An ID of zero is left out, so that the reader keeps its last ID.
func (w eventWriter) data(kind string, id uint64, value any) {
	text, err := w.server.Secrets.Encode(value)
	if err != nil {
		w.server.Log.Warn("an event cannot be sent", "id", id, "error", err)
		return
	}
	w.Event(id, kind, text)
}
