package notification

import (
	"context"
	"time"
)

// Store stores the state and the deliveries. Safe for concurrent use.
//
// An error that matches client.ErrUnavailable means that the store cannot be used now.
type Store interface {
	// NotificationState returns the saved state, or the zero value if none was saved.
	NotificationState(ctx context.Context) (State, error)
	// SaveNotificationState replaces the state. When it returns, the state survives an exit of the process.
	SaveNotificationState(ctx context.Context, s State) error
	// Deliveries returns all deliveries, oldest first. The error names deliveries that cannot be read; the others are
	// returned together with the error.
	Deliveries(ctx context.Context) ([]Delivery, error)
	// SaveDeliveries stores all deliveries or none. A delivery with the key of a stored one replaces it. When it returns,
	// the deliveries survive an exit of the process.
	SaveDeliveries(ctx context.Context, deliveries []Delivery) error
	// DeleteDeliveries deletes the final deliveries that were last updated before a time, except those about the subjects
	// in keep.
	DeleteDeliveries(ctx context.Context, before time.Time, keep []string) error
}
