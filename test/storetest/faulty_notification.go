package storetest

import (
	"context"
	"time"

	"gascity/internal/domain/notification"
)

// NotificationState returns the saved state of the notification engine; the zero value if none was
// saved, unless the mode of f makes the call fail or hang. It implements notification.Store.
func (f *Faulty) NotificationState(ctx context.Context) (notification.State, error) {
	found, err := list(ctx, f, "notification state", func() ([]notification.State, error) {
		s, err := f.stores.Notifications.NotificationState(ctx)
		return []notification.State{s}, err
	})
	if err != nil || len(found) == 0 {
		return notification.State{}, err
	}
	return found[0], nil
}

// SaveNotificationState replaces the saved state of the notification engine, unless the mode of f
// makes the call fail or hang. It implements notification.Store.
func (f *Faulty) SaveNotificationState(ctx context.Context, s notification.State) error {
	return f.write(ctx, func() error { return f.stores.Notifications.SaveNotificationState(ctx, s) })
}

// Deliveries returns all stored deliveries of notifications, oldest first, unless the mode of f
// makes the call fail or hang. It implements notification.Store.
func (f *Faulty) Deliveries(ctx context.Context) ([]notification.Delivery, error) {
	return list(ctx, f, "deliveries", func() ([]notification.Delivery, error) { return f.stores.Notifications.Deliveries(ctx) })
}

// SaveDeliveries stores deliveries of notifications in place of those with the same keys, unless
// the mode of f makes the call fail or hang. It implements notification.Store.
func (f *Faulty) SaveDeliveries(ctx context.Context, deliveries []notification.Delivery) error {
	return f.write(ctx, func() error { return f.stores.Notifications.SaveDeliveries(ctx, deliveries) })
}

// DeleteDeliveries deletes old final deliveries of notifications, except those about the subjects
// in keep, unless the mode of f makes the call fail or hang. It implements notification.Store.
func (f *Faulty) DeleteDeliveries(ctx context.Context, before time.Time, keep []string) error {
	return f.write(ctx, func() error { return f.stores.Notifications.DeleteDeliveries(ctx, before, keep) })
}
