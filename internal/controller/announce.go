package controller

import (
	"time"

	"gascity/internal/controller/explain"
	"gascity/internal/domain/event"
	"gascity/runtime"
)

// unknownFor is how long an activity must be unknown before that becomes an event. While a
// person types, a screen is unknown and ready again with each key.
const unknownFor = time.Second

// announce makes an event of an activity that has changed. Every known activity becomes one
// at once; that it is unknown only when it stays so for [unknownFor]. Nothing is written
// when the activity is again what the last event said.
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
		l.c.emit(event.SessionActivity, e, "the agent is "+string(s.activity.State), explain.ActivityData(&s.activity))
	}
}

// announceUnknown makes events of what has been unknown for long enough.
func (l *loop) announceUnknown() {
	for e := range l.unannounced {
		if l.entries[e.rec.Key()] != e || !e.running() {
			delete(l.unannounced, e)
			continue
		}
		l.announce(e)
	}
}
