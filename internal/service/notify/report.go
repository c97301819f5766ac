package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/notification"
)

// Notifications returns the sinks and the stored notifications, newest first.
func (e *Engine) Notifications(context.Context) (client.Notifications, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := client.Notifications{Sinks: []client.NotifySink{}, Present: e.present, Notifications: make([]client.Notification, 0, len(e.deliveries))}
	for _, d := range e.deliveries {
		out.Notifications = append(out.Notifications, toClient(d))
	}
	slices.SortFunc(out.Notifications, func(a, b client.Notification) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	if e.settings == nil {
		return out, nil
	}
	for i := range e.settings.Sinks {
		configured := &e.settings.Sinks[i]
		sink := client.NotifySink{Name: configured.Name, Type: configured.Type}
		for _, one := range configured.forDevices(e.devices) {
			w := e.workers[one.target()]
			if one.device.ID != "" {
				sink.Devices++
			}
			if w == nil || sink.Error != "" {
				continue
			}
			if w.trouble(&sink); sink.Error != "" && one.device.Name != "" {
				sink.Error = one.device.Name + ": " + sink.Error
			}
		}
		for j := range out.Notifications {
			if n := &out.Notifications[j]; n.Sink == sink.Name && n.State == client.NotifySending {
				sink.Waiting++
			}
		}
		out.Sinks = append(out.Sinks, sink)
	}
	return out, nil
}

// toClient returns the delivery as the control API returns it.
func toClient(d *notification.Delivery) client.Notification {
	s := &d.Subject
	return client.Notification{
		ID: d.ID, Sink: d.Sink, Device: d.Device, State: string(d.State), Kind: string(s.Kind), Agent: s.Agent, Session: s.Session, Question: s.Question,
		Text: s.Text, Message: d.Message, Tries: d.Tries, Error: d.Error, Created: d.Created, Updated: d.Updated,
	}
}

// trouble sets when the next try is and why the last one failed, and why answers cannot be received.
func (w *worker) trouble(sink *client.NotifySink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sink.Retry, sink.Error, sink.AnswerError = w.notBefore, w.failure, w.listenFailure
}

// TestNotify sends a test message to a sink, or to all sinks at the same time, and there to each device. It is not stored and not
// tried again.
func (e *Engine) TestNotify(ctx context.Context, req client.NotifyTestRequest) ([]client.NotifyResult, error) {
	e.mu.Lock()
	var s Settings
	if e.settings != nil {
		s = *e.settings
	}
	devices := e.devices
	e.mu.Unlock()
	var sinks []Sink
	var names []string
	for _, sink := range s.Sinks {
		names = append(names, sink.Name)
		if req.Sink == "" || sink.Name == req.Sink {
			sinks = append(sinks, sink)
		}
	}
	switch {
	case len(s.Sinks) == 0:
		return nil, fmt.Errorf("%w: city.toml has no [[notify]] section; docs/how-to/notifications.md has examples", client.ErrRefused)
	case len(sinks) == 0:
		return nil, fmt.Errorf("%w: no [[notify]] section has the name %q; there are: %s", client.ErrNotFound, req.Sink, strings.Join(names, ", "))
	}
	var targets []Sink
	var out []client.NotifyResult
	for i := range sinks {
		found := sinks[i].forDevices(devices)
		targets = append(targets, found...)
		if len(found) == 0 {
			out = append(out, client.NotifyResult{Sink: sinks[i].Name, Type: sinks[i].Type, Error: noDevice})
		}
	}
	results := make([]client.NotifyResult, len(targets))
	var all sync.WaitGroup
	for i, sink := range targets {
		all.Go(func() { results[i] = e.test(ctx, sink, s.City) })
	}
	all.Wait()
	return append(out, results...), nil
}

// noDevice is why a sink with devices cannot send anything.
const noDevice = "no device gets notifications yet; open the web console on the device (gc web), page City, and press Notify this device"

// test sends a test message to one sink.
func (e *Engine) test(ctx context.Context, sink Sink, city string) client.NotifyResult {
	now := e.opts.Now()
	m := &Message{
		ID:   notification.Key{Subject: "test " + now.Format(time.RFC3339Nano), Sink: sink.Name, Device: sink.device.ID}.ID(e.opts.Root),
		City: city,
		Items: []Item{{
			Kind: "test", Title: "a test message from gc", Prompt: "If you can read this, " + sink.Name + " works.", Since: now,
		}},
	}
	m.render(e.opts.Secrets, func(agent, question string) string { return e.opts.Link(ctx, agent, question) })
	out := client.NotifyResult{Sink: sink.Name, Type: sink.Type, Device: sink.device.Name}
	if err := send(ctx, sink, m); err != nil {
		out.Error = clean(e.opts.Secrets, err.Error(), maxReason)
	}
	out.Seconds = e.opts.Now().Sub(now).Seconds()
	return out
}

// RetryNotification sends a failed notification again, with the same id.
func (e *Engine) RetryNotification(ctx context.Context, id string) (client.Notification, error) {
	e.mu.Lock()
	var found *notification.Delivery
	for _, d := range e.deliveries {
		if d.ID == id {
			copied := *d
			found = &copied
		}
	}
	var w *worker
	if found != nil {
		w = e.workers[found.Target()]
	}
	accepted := w != nil && found.State == notification.Failed
	if accepted { // under the same lock: of two requests at once, one is refused
		began := *found
		began.State, began.Created, began.Updated, began.Message = notification.Sending, e.opts.Now(), e.opts.Now(), began.ID
		found, e.deliveries[began.Key()] = &began, &began
	}
	e.mu.Unlock()
	switch {
	case found == nil:
		return client.Notification{}, fmt.Errorf("%w: no notification has the id %q; gc notify list shows them", client.ErrNotFound, id)
	case !accepted && found.State != notification.Failed:
		return client.Notification{}, fmt.Errorf("%w: %s is %s, only a failed notification is sent again", client.ErrRefused, id, found.State)
	case !accepted:
		return client.Notification{}, fmt.Errorf("%w: %s cannot be sent again to %q: %s", client.ErrRefused, id, found.Sink, removedReason(found.Target()))
	}
	one := []notification.Delivery{*found}
	e.save(ctx, one)
	w.add(one)
	return toClient(&one[0]), nil
}
