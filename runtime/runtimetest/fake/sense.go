package fake

import (
	"cmp"
	"context"
	"time"

	"gascity/runtime"
)

// Sense implements runtime.Sensor. A test can set other signals with [Provider.SetReading].
func (f *Provider) Sense(_ context.Context, name string) (runtime.Reading, error) {
	if err := f.called("Sense", name); err != nil {
		return runtime.Reading{}, err
	}
	var r runtime.Reading
	found := f.world.with(name, func(s *session) {
		if s.exit == nil {
			r = s.readLocked()
		}
	})
	if !found || r.At.IsZero() {
		return runtime.Reading{}, notFound("sense", name)
	}
	return r, nil
}

// readLocked returns a reading of the session. Signals that a test has set replace those of the agent.
func (s *session) readLocked() runtime.Reading {
	r := runtime.Reading{Instance: s.token, At: time.Now(), Pending: s.agent.pendingLocked()}
	if s.reading != nil {
		r.Evidence, r.Again = s.reading.Evidence, s.reading.Again
		if s.reading.Pending != nil {
			r.Pending = s.reading.Pending
		}
		return r
	}
	e := runtime.Evidence{Source: cmp.Or(s.agent.program.Source, runtime.SourceStatus), Activity: runtime.ActivityUnknown, At: r.At, Since: s.active, Detail: "model"}
	switch a := s.agent; {
	case r.Pending != nil:
		e.Activity, e.Kind = runtime.ActivityWaiting, r.Pending.Kind
	case len(a.dialog) > 0:
		e.Activity, e.Kind = runtime.ActivityWaiting, runtime.WaitMenu
	case a.busy:
		e.Activity = runtime.ActivityBusy
	case a.ready:
		e.Activity = runtime.ActivityIdle
	}
	r.Evidence = []runtime.Evidence{e}
	return r
}

// SetReading replaces the result of [Provider.Sense] for the session, except the instance and the
// time. Nil restores the result of the model. Every watcher gets an event.
func (f *Provider) SetReading(name string, r *runtime.Reading) {
	f.world.with(name, func(s *session) {
		s.reading = r
		f.world.publishLocked(runtime.Event{Kind: runtime.EventStatus, Session: name})
	})
}

// Withdraw implements runtime.Withdrawer. It proves nothing, because a delivery to a simulated agent is
// never interrupted.
func (f *Provider) Withdraw(_ context.Context, name string, d runtime.Delivery) (bool, error) {
	if err := f.called("Withdraw", name, d); err != nil {
		return false, err
	}
	s := f.world.find(name)
	switch {
	case s == nil:
		return false, notFound("withdraw a prompt from", name)
	case d.Instance != "" && d.Instance != s.token:
		return false, &runtime.Error{Op: "withdraw a prompt from", Session: name, Err: runtime.ErrStaleInstance}
	}
	return false, nil
}
