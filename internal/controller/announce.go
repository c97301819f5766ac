package controller

import (
	"time"

	"gascity/internal/controller/explain"
	"gascity/internal/domain/event"
	"gascity/runtime"
)

// unknownFor is how long an activity must be unknown before gc emits an event about it. While a
// person types, the activity alternates between unknown and ready with each key.
const unknownFor = time.Second

// announce emits an event if the agent's activity changed since the last event. It emits a known
// activity at once. It emits an unknown activity only after it was unknown for [unknownFor].
func (l *loop) announce(e *entry) {
	s := &e.sensing
	delete(l.unannounced, e)
	switch {
	case s.activity.State == s.announced:
	case s.activity.State == runtime.ActivityUnknown && s.announced != "" && l.now().Before(s.unknownAt.Add(unknownFor)):
		l.unannounced[e] = true
		l.tickAt(s.unknownAt.Add(unknownFor))
	default:
		s.announced = s.activity.State
		l.emit(event.SessionActivity, e, "the agent is "+string(s.activity.State), explain.ActivityData(&s.activity))
	}
}

// announceUnknown checks the running sessions whose activity is unknown and was not announced yet,
// and calls [loop.announce] for each.
func (l *loop) announceUnknown() {
	for e := range l.unannounced {
		if l.entries[e.rec.Key()] != e || !e.running() {
			delete(l.unannounced, e)
			continue
		}
		l.announce(e)
	}
}
