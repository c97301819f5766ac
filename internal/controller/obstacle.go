package controller

import (
	"gascity/internal/controller/account"
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
		l.keepLimit(e, session.Limit{Since: a.Since, Until: a.Until, Source: a.Source, Detail: a.Detail})
	case a.State != runtime.ActivityUnknown && !e.rec.Limited.Since.IsZero():
		e.rec.Limited = session.Limit{}
		e.touch()
	default:
	}
}

func (l *loop) keepLimit(e *entry, next session.Limit) {
	if e.rec.Limited.Until.Equal(next.Until) && !e.rec.Limited.Since.IsZero() {
		return
	}
	e.rec.Limited = next
	e.touch()
	l.c.emit(event.SessionLimited, e, "the vendor serves nothing for now",
		map[string]string{"until": account.Stamp(next.Until), "source": string(next.Source)})
}

// lastWords takes note of a limit that an agent told of at its end, and reports
// whether the end is due to one.
func (l *loop) lastWords(e *entry, last *runtime.Evidence) bool {
	if last != nil && last.Activity == runtime.ActivityLimited {
		l.keepLimit(e, session.Limit{Since: l.now(), Until: last.Until, Source: last.Source, Detail: last.Detail})
	}
	return l.limited(e)
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
