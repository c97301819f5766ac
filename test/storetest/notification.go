package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"gascity/internal/domain/notification"
)

// Notifications is a [notification.Store] in memory: its contents are lost when the process exits. The zero value is empty.
type Notifications struct {
	mu         sync.Mutex
	state      notification.State
	deliveries table[notification.Key, notification.Delivery]
}

var _ notification.Store = (*Notifications)(nil)

// NotificationState returns the saved state of the notification engine; the zero value if none was saved. It implements
// [notification.Store].
func (m *Notifications) NotificationState(context.Context) (notification.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cloneState(m.state), nil
}

// SaveNotificationState replaces the saved state of the notification engine. It implements [notification.Store].
func (m *Notifications) SaveNotificationState(_ context.Context, s notification.State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = cloneState(s)
	return nil
}

// cloneState returns a copy of the state that shares no memory with it.
func cloneState(s notification.State) notification.State {
	s.Sinks, s.Open, s.Turns = maps.Clone(s.Sinks), slices.Clone(s.Open), maps.Clone(s.Turns)
	return s
}

// Deliveries returns all stored deliveries of notifications, oldest first. It implements [notification.Store].
func (m *Notifications) Deliveries(context.Context) ([]notification.Delivery, error) {
	return m.deliveries.list(func(a, b notification.Delivery) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Subject.ID, b.Subject.ID), cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Device, b.Device))
	})
}

// SaveDeliveries stores deliveries of notifications in place of those with the same keys. It implements [notification.Store].
func (m *Notifications) SaveDeliveries(_ context.Context, deliveries []notification.Delivery) error {
	for _, d := range deliveries {
		m.deliveries.put(d.Key(), d)
	}
	return nil
}

// DeleteDeliveries deletes old final deliveries of notifications, except those about the subjects in keep. It implements
// [notification.Store].
func (m *Notifications) DeleteDeliveries(_ context.Context, before time.Time, keep []string) error {
	m.deliveries.remove(func(k notification.Key, d notification.Delivery) bool {
		return d.Final() && d.Updated.Before(before) && !slices.Contains(keep, k.Subject)
	})
	return nil
}

// notificationKept checks that the state and the deliveries are stored unchanged and replaced by their keys.
func notificationKept(s *suite) {
	s.deliveries()
	state, err := s.Notifications.NotificationState(s.ctx)
	s.must(err)
	s.wantSame("the first state", notification.State{}, state)
	one, two := filled[notification.Delivery](1), filled[notification.Delivery](40)
	two.Subject.ID, two.Created = one.Subject.ID, one.Created.Add(time.Minute)
	two.Sink = one.Sink + "/2"
	s.must(s.Notifications.SaveDeliveries(s.ctx, []notification.Delivery{two, one}))
	full := filled[notification.State](1)
	s.must(s.Notifications.SaveNotificationState(s.ctx, filled[notification.State](9)))
	s.must(s.Notifications.SaveNotificationState(s.ctx, full))
	s.recheck(func() {
		s.deliveries(one, two)
		got, err := s.Notifications.NotificationState(s.ctx)
		s.must(err)
		s.wantSame("the state", full, got)
	})
	one.State = notification.Sent
	s.must(s.Notifications.SaveDeliveries(s.ctx, []notification.Delivery{one}))
	s.recheck(func() { s.deliveries(one, two) })
}

// notificationDeleted checks that only old final deliveries are deleted, and none about a subject that is kept.
func notificationDeleted(s *suite) {
	var all []notification.Delivery
	for i, state := range []notification.DeliveryState{notification.Sending, notification.Sent, notification.Failed, notification.Dropped, notification.Sent} {
		d := notification.Delivery{Subject: notification.Subject{ID: string(rune('a' + i))}, Sink: "s", State: state, Created: start().Add(time.Duration(i)), Updated: start()}
		all = append(all, d)
	}
	all[4].Updated = start().Add(time.Hour)
	s.must(s.Notifications.SaveDeliveries(s.ctx, all))
	s.must(s.Notifications.DeleteDeliveries(s.ctx, start(), nil))
	s.recheck(func() { s.deliveries(all...) })
	s.must(s.Notifications.DeleteDeliveries(s.ctx, start().Add(time.Second), []string{"b"}))
	s.recheck(func() { s.deliveries(all[0], all[1], all[4]) })
}

// deliveries checks that exactly these deliveries are stored.
func (s *suite) deliveries(want ...notification.Delivery) {
	s.t.Helper()
	got, err := s.Notifications.Deliveries(s.ctx)
	s.must(err)
	s.wantSame("the deliveries", want, got)
}
