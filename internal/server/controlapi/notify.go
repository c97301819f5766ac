package controlapi

import (
	"context"
	"net/http"

	"gascity/client"
	"gascity/internal/httpwire"
)

// present counts the caller as a person who sees all agents, while its connection is open, but at most for
// client.PresenceLimit. The stream has no values; it ends with the event "end".
func present(parent context.Context, s *Server, w http.ResponseWriter, _ *http.Request) error {
	ctx, cancel := context.WithTimeout(parent, client.PresenceLimit)
	defer cancel()
	if err := s.city.Present(ctx); err != nil {
		return err
	}
	out := eventWriter{StreamWriter: httpwire.NewStreamWriter(w, s.Stall), server: s}
	out.Comment("the caller is counted")
	httpwire.Follow(out.StreamWriter, ctx.Done(), func(struct{}) {}, cancel, s.Heartbeat)
	if parent.Err() == nil {
		out.data("end", 0, struct{}{})
	}
	return nil
}
