// Package controller contains the reconcile loop, the only code that starts and stops sessions.
//
// # One loop
//
// [Controller.Run] is one goroutine that owns all mutable state. Other goroutines send it functions
// to run, or read the snapshot that it publishes. After each message it makes a pass: it observes
// every stale session again, [plan.Diff] decides about every session, and the loop begins the
// decided actions.
//
// # Level, not edge
//
// An event of a provider only selects what to observe. Each action follows from an observation that
// is newer than the last action. So a lost event causes a delay until the next patrol, and no
// error. If an observation fails or a listing is incomplete, gc does nothing to the sessions
// concerned.
//
// # Work
//
// At most one goroutine works on a session at a time: it observes, starts, stops or changes the
// session. Each such job has a deadline. A job that exceeds its deadline still blocks its session
// but is not counted in the limits, so it delays no other session.
//
// # Orders
//
// An order is a change that a person or an agent requests for the record of a session, such as a
// hold or a drain. It examines a case and changes a copy of the record. It has no side effects; the
// change takes effect after the store has saved it.
//
// # Records
//
// The record saver writes the records of sessions to the store outside the loop, and retries failed
// writes. Reading them has a time limit. A slow or failing store delays nothing else.
//
// # Snapshot
//
// The loop publishes the state of the city, completely or one session at a time. Reading it does not
// involve the loop, and values that were read never change.
//
// # Rest
//
// When nothing happens, no work grows with the number of sessions: a provider that pushes events is
// only asked for one listing per patrol. Each session of a provider that cannot push is observed
// once per patrol.
package controller
