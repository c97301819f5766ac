package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

// Notifier is an optional extension of City: it sends notifications. Without it, these requests are client.ErrUnsupported.
type Notifier interface {
	// Notifications returns the sinks and the recent notifications.
	Notifications(ctx context.Context) (client.Notifications, error)
	// TestNotify sends a test message. An unknown sink is client.ErrNotFound.
	TestNotify(ctx context.Context, req client.NotifyTestRequest) ([]client.NotifyResult, error)
	// RetryNotification sends a failed notification again.
	RetryNotification(ctx context.Context, id string) (client.Notification, error)
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
