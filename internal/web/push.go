package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/notification"
)

// Push is what the web console needs to offer notifications by Web Push. All fields are required.
type Push struct {
	// Key returns the public key with which a browser subscribes, in base64url.
	Key func() (string, error)
	// Sinks returns the names of the sinks of city.toml that notify devices.
	Sinks func() []string
	// Changed is called with the devices that get notifications, after each change. It must neither wait nor call the server.
	Changed func(devices []client.WebDevice)
}

// savedPush is the subscription of a device in the state file.
type savedPush struct {
	notification.Subscription

	Key string `json:"key"` // the public key of the city with which the browser subscribed
}

// offerPush makes the registry report the devices that get notifications. It removes the subscriptions that were made with
// another key of the city: a push service refuses messages to them.
func (r *registry) offerPush(p *Push) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if slices.ContainsFunc(r.devices, func(d *device) bool { return d.push != nil }) {
		var key string
		if key, err = p.Key(); err == nil {
			for _, d := range r.devices {
				if d.push != nil && d.push.Key != key {
					d.push = nil // the file is written at the next change
				}
			}
		}
	}
	r.notified = p.Changed
	return err
}

// reportNotifiedLocked reports the devices that get notifications, if they changed.
func (r *registry) reportNotifiedLocked() {
	if r.notified == nil {
		return
	}
	devices := r.notifiedLocked()
	ids := make([]string, len(devices))
	for i := range devices {
		ids[i] = devices[i].ID
	}
	if !slices.Equal(ids, r.reported) {
		r.reported = ids
		r.notified(devices)
	}
}

// notifiedLocked returns the devices that get notifications.
func (r *registry) notifiedLocked() (out []client.WebDevice) {
	for _, d := range r.devices {
		if d.push != nil {
			out = append(out, d.shown())
		}
	}
	return out
}

// setPush saves the subscription of a device. Another device with the same endpoint loses it: it is the same browser, which has
// signed in again. changed is false if the device has the subscription already.
func (r *registry) setPush(id string, s savedPush) (changed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.findLocked(hasID(id))
	switch {
	case own == nil:
		return false, errNotSignedIn
	case own.push != nil && *own.push == s:
		return false, nil
	}
	before := map[*device]*savedPush{own: own.push}
	for _, d := range r.devices {
		if d.push != nil && d.push.Endpoint == s.Endpoint {
			before[d], d.push = d.push, nil
		}
	}
	own.push = &s
	if err := r.saveLocked(); err != nil {
		for d, push := range before {
			d.push = push
		}
		return false, err
	}
	r.reportNotifiedLocked()
	return true, nil
}

// removePush removes the subscription of a device, if it has this endpoint; an empty one means any. The device gets no
// notifications any more also if the file cannot be written.
func (r *registry) removePush(id, endpoint string) (name string, removed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.findLocked(hasID(id))
	if d == nil || d.push == nil || endpoint != "" && d.push.Endpoint != endpoint {
		return "", false, nil
	}
	d.push = nil
	r.reportNotifiedLocked()
	return d.name, true, r.saveLocked()
}

// NotifiedDevices returns the devices that get notifications, oldest first.
func (s *Server) NotifiedDevices() []client.WebDevice {
	s.devices.mu.Lock()
	defer s.devices.mu.Unlock()
	return s.devices.notifiedLocked()
}

// PushSubscription implements notify.PushDevices.
func (s *Server) PushSubscription(id string) (notification.Subscription, bool) {
	s.devices.mu.Lock()
	defer s.devices.mu.Unlock()
	d := s.devices.findLocked(hasID(id))
	if d == nil || d.push == nil {
		return notification.Subscription{}, false
	}
	return d.push.Subscription, true
}

// RemovePushSubscription implements notify.PushDevices.
func (s *Server) RemovePushSubscription(ctx context.Context, id, endpoint, why string) {
	name, removed, err := s.devices.removePush(id, endpoint)
	if err != nil {
		s.opts.Log.Error(err.Error())
	}
	if removed {
		s.emit(ctx, event.WebUnsubscribed, "the device "+name+" gets no notifications any more: "+why, map[string]string{"device": id, "name": name, "reason": why})
	}
}

// pushView is what the page needs to turn notifications on and off.
type pushView struct {
	Key        string   `json:"key,omitempty"` // empty: there is no sink
	Sinks      []string `json:"sinks"`
	Subscribed bool     `json:"subscribed"`
}

// errNoPush is the error of a web console that does not offer notifications.
var errNoPush = fmt.Errorf("%w: this web console sends no notifications", client.ErrUnsupported)

// push answers whether the device gets notifications, and with which key a browser subscribes.
func (c *console) push(w http.ResponseWriter, r *http.Request) error {
	return c.asDevice(w, r, client.ScopeSee, 0, func(_ context.Context, device client.WebDevice) error {
		offer := c.server.opts.Push
		if offer == nil {
			return write(w, pushView{Sinks: []string{}})
		}
		view := pushView{Sinks: append([]string{}, offer.Sinks()...), Subscribed: device.Notified}
		if len(view.Sinks) > 0 {
			var err error
			if view.Key, err = offer.Key(); err != nil {
				return fmt.Errorf("%w: %w", client.ErrUnavailable, err)
			}
		}
		return write(w, view)
	})
}

// subscribe saves the subscription of the device's browser.
func (c *console) subscribe(w http.ResponseWriter, r *http.Request) error {
	return c.asDevice(w, r, client.ScopeSee, authBody, func(ctx context.Context, device client.WebDevice) error {
		in, err := decode[savedPush](r)
		if err != nil {
			return err
		}
		offer := c.server.opts.Push
		if offer == nil {
			return errNoPush
		}
		if err := in.Check(); err != nil {
			return fmt.Errorf("%w: %w", client.ErrInvalid, err)
		}
		if len(offer.Sinks()) == 0 {
			return fmt.Errorf("%w: city.toml has no [[notify]] section with type = \"webpush\"", client.ErrRefused)
		}
		switch key, err := offer.Key(); {
		case err != nil:
			return fmt.Errorf("%w: %w", client.ErrUnavailable, err)
		case key != in.Key:
			return fmt.Errorf("%w: the key of the city has changed; load the page again and turn notifications on again", client.ErrRefused)
		}
		changed, err := c.server.devices.setPush(device.ID, in)
		if err != nil {
			return err
		}
		if changed {
			c.server.emit(ctx, event.WebSubscribed, "the device "+device.Name+" gets notifications", eventData(r, device, client.ScopeSee))
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

// unsubscribe removes the subscription of the device's browser.
func (c *console) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	return c.asDevice(w, r, client.ScopeSee, 0, func(ctx context.Context, device client.WebDevice) error {
		name, removed, err := c.server.devices.removePush(device.ID, "")
		if removed {
			c.server.emit(ctx, event.WebUnsubscribed, "the device "+name+" turned notifications off", map[string]string{"device": device.ID, "name": name, "reason": "turned off"})
		}
		if err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}
