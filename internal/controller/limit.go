package controller

import (
	"gascity/internal/event"
	"gascity/internal/session"
	"gascity/runtime"
)

// limit takes note of what the activity says of the vendor's limits. While
// nobody knows, what was known holds.
func (l *loop) limit(e *entry) {
	a := &e.sensing.activity
	switch {
	case a.State == runtime.ActivityLimited:
		next := session.Limit{Since: a.Since, Until: a.Until, Source: a.Source, Detail: a.Detail}
		if e.rec.Limited.Until.Equal(next.Until) && !e.rec.Limited.Since.IsZero() {
			return
		}
		e.rec.Limited = next
		e.touch()
		l.c.emit(event.SessionLimited, e, "the vendor serves nothing for now",
			map[string]string{"until": stamp(a.Until), "source": string(a.Source)})
	case a.State != runtime.ActivityUnknown && !e.rec.Limited.Since.IsZero():
		e.rec.Limited = session.Limit{}
		e.touch()
	default:
	}
}

// limited reports whether an end now is due to a limit, and no failure. The next
// start is put off by the limit then; one without a known end counts anew.
func (l *loop) limited(e *entry) bool {
	lim := &e.rec.Limited
	if lim.Since.IsZero() || !lim.Until.IsZero() && !l.now().Before(lim.Until) {
		return false
	}
	if lim.Until.IsZero() {
		lim.Since = l.now()
	}
	return true
}
