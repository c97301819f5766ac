package script

import (
	"encoding/json"
	"fmt"
	"slices"

	"gascity/runtime"
)

var eventKinds = []runtime.EventKind{
	runtime.EventStarted, runtime.EventExited, runtime.EventGone, runtime.EventOutput,
	runtime.EventAttached, runtime.EventStatus, runtime.EventTitle, runtime.EventResync,
}

// ParseEvent parses one line of the operation watch. ok is false for an event of an unknown kind; the caller must skip it. A
// line that is not an event is an error.
func ParseEvent(line []byte) (e runtime.Event, ok bool, err error) {
	if err := json.Unmarshal(line, &e); err != nil {
		return e, false, fmt.Errorf("the line %.80q is not an event: %w", line, err)
	}
	if !slices.Contains(eventKinds, e.Kind) {
		return e, false, nil
	}
	if e.Kind == runtime.EventResync {
		e.Session = ""
	} else if runtime.ValidateName(e.Session) != nil {
		return e, false, fmt.Errorf("an event of kind %s has the invalid session name %.80q", e.Kind, e.Session)
	}
	return e, true, nil
}
