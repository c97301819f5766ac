// Package event defines the events of a city and a log of the recent ones.
//
// # Order
//
// A city has one time line. [Log.Append] gives each event the next id. Every reader sees the
// events in the order of their ids, and never sees an event before its predecessors. An event
// describes something that has already happened; it is never a command.
//
// # Slow readers
//
// The log is the only buffer. A reader has a position in the log and no queue of its own, so the
// writer never waits for a reader. A reader whose next event was already removed gets a gap from
// [Log.After] and continues with the oldest event that is left.
package event
