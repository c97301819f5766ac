package controlapi

import (
	"context"
	"fmt"
	"net/http"

	"gascity/client"
	"gascity/internal/httpwire"
)

// Notifier is an optional extension of City: it sends notifications. Without it, these requests are client.ErrUnsupported.
type Notifier interface {
	// Notifications returns the sinks and the recent notifications.
	Notifications(ctx context.Context) (client.Notifications, error)
	// TestNotify sends a test message. An unknown sink is client.ErrNotFound.
	TestNotify(ctx context.Context, req client.NotifyTestRequest) ([]client.NotifyResult, error)
	// RetryNotification sends a failed notification again.
	RetryNotification(ctx context.Context, id string) (client.Notification, error)
	// Present counts a person who sees all agents, until ctx ends. It does not wait.
	Present(ctx context.Context) error
}

var errNoNotifier = fmt.Errorf("%w: this city sends no notifications", client.ErrUnsupported)

// notifications returns the sinks and the recent notifications.
func notifications(ctx context.Context, city City, _ *none) (*reply[client.Notifications], error) {
	n, ok := city.(Notifier)
	if !ok {
		return nil, errNoNotifier
	}
	return answer(n.Notifications(ctx))
}

type notifyTestInput struct{ Body client.NotifyTestRequest }

// testNotify sends a test message.
func testNotify(ctx context.Context, city City, in *notifyTestInput) (*reply[[]client.NotifyResult], error) {
	n, ok := city.(Notifier)
	if !ok {
		return nil, errNoNotifier
	}
	return rows(n.TestNotify(ctx, in.Body))
}

// retryNotification sends a failed notification again.
func retryNotification(ctx context.Context, city City, in *Identified) (*reply[client.Notification], error) {
	n, ok := city.(Notifier)
	if !ok {
		return nil, errNoNotifier
	}
	return answer(n.RetryNotification(ctx, in.ID))
}

// present counts the caller as a person who sees all agents, while its connection is open, but at most for
// client.PresenceLimit. The stream has no values; it ends with the event "end".
func present(parent context.Context, s *Server, w http.ResponseWriter, _ *http.Request) error {
	n, ok := s.city.(Notifier)
	if !ok {
		return errNoNotifier
	}
	ctx, cancel := context.WithTimeout(parent, client.PresenceLimit)
	defer cancel()
	if err := n.Present(ctx); err != nil {
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
