package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gascity/internal/domain/notification"
)

var _ notification.Store = (*DB)(nil)

// NotificationState returns the saved state of the notification engine; the zero value if none was
// saved. It implements notification.Store.
func (d *DB) NotificationState(ctx context.Context) (notification.State, error) {
	found, err := load[notification.State](ctx, d, "state of notifications", "SELECT 'the only one', body FROM notifier")
	if err != nil || len(found) == 0 {
		return notification.State{}, err
	}
	return found[0], nil
}

// SaveNotificationState replaces the saved state of the notification engine. It implements
// notification.Store.
func (d *DB) SaveNotificationState(ctx context.Context, s notification.State) error {
	return d.put(ctx, "save the state of notifications", s, nil, "INSERT OR REPLACE INTO notifier VALUES (1, ?)")
}

// Deliveries returns all stored deliveries of notifications, oldest first. It implements
// notification.Store.
func (d *DB) Deliveries(ctx context.Context) ([]notification.Delivery, error) {
	return load[notification.Delivery](ctx, d, "notification",
		"SELECT subject || ' (' || sink || ')', body FROM delivery ORDER BY created, subject, sink, device")
}

// SaveDeliveries stores deliveries of notifications in place of those with the same keys. It
// implements notification.Store.
func (d *DB) SaveDeliveries(ctx context.Context, deliveries []notification.Delivery) error {
	bodies := make([]string, len(deliveries))
	for i := range deliveries {
		body, err := d.opts.Secrets.Encode(deliveries[i])
		if err != nil {
			return fmt.Errorf("cannot save the notification %s: %w", deliveries[i].ID, err)
		}
		bodies[i] = string(body)
	}
	return d.write(ctx, "save notifications", survivesKill, func(ctx context.Context, t *tx) error {
		for i := range deliveries {
			one := &deliveries[i]
			err := t.exec(ctx, "INSERT OR REPLACE INTO delivery VALUES (?, ?, ?, ?, ?, ?, ?)",
				one.Subject.ID, one.Sink, one.Device, nanos(one.Created), nanos(one.Updated), one.Final(), bodies[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteDeliveries deletes old final deliveries of notifications, except those about the subjects
// in keep. It implements notification.Store.
func (d *DB) DeleteDeliveries(ctx context.Context, before time.Time, keep []string) error {
	kept, err := json.Marshal(append([]string{}, keep...))
	if err != nil {
		return err
	}
	return d.exec(ctx, "delete old notifications",
		"DELETE FROM delivery WHERE final = 1 AND updated < ? AND subject NOT IN (SELECT value FROM json_each(?))", nanos(before), string(kept))
}
