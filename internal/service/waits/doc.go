// Package waits keeps conditions that somebody waits for: [Service.Await] blocks its
// caller, [Service.AddWait] registers a durable wait of an agent, which is notified
// of the end by a prompt.
//
// # Conditions
//
//   - idle: the target runs, its start is complete, and it is idle or ready.
//   - busy: it runs and is in a turn.
//   - waiting: it runs and asks a person.
//   - running: it runs, and its start is complete.
//   - stopped: it does not run, or another instance runs than when the wait began.
//   - receipt, pending: the receipt or the pending question Arg has ended.
//   - time: the time Arg has come.
//   - command: the shell command Arg exits 0.
//
// The first four are about the agent and not about its instance: through a
// restart they go on waiting. What is not known fulfils nothing. A condition that
// can never hold any more, as when its target was removed, fails.
//
// # Cost
//
// Conditions are looked at when something has changed: [Service.SessionChanged] reports a
// session, the event log of receipts and questions, a timer of times. Commands are
// the only polling: after 1 s, and then at intervals that double up to 30 s, at
// most 8 at once. One goroutine serves the city and another follows the event log.
//
// # Owners
//
// A durable wait belongs to the instance of its owner that registered it, or to
// the conversation that a successor resumes; another successor is not notified.
// An owner that does not run when it registers is notified whenever it runs
// next. The prompt's key is the wait's ID, so the owner is notified at most
// once.
package waits
