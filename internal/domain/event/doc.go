// Package event names what happens in a city and keeps the recent past of it.
//
// # Order
//
// A city has one time line. [Log.Append] gives each event the next id, and
// everybody who reads sees the events in the order of their ids: an event that
// is visible has no invisible predecessor. An event is about something that has
// already happened; it is never a command.
//
// # Slow readers
//
// The log is the only buffer. A reader has a cursor into it and no queue of its
// own, so the writer never waits for anybody. A reader that falls behind the
// retention learns from a [KindGap] event how much it missed, and goes on.
package event
