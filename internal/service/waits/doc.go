// Package waits waits for conditions. [Service.Await] blocks its caller until a condition holds.
// [Service.AddWait] registers a durable wait of an agent, which gets a prompt when the wait ends.
//
// # Conditions
//
//   - idle: the target runs, its start is complete, and it is idle or ready.
//   - busy: it runs and is in a turn.
//   - waiting: it runs and asks a person.
//   - running: it runs, and its start is complete.
//   - stopped: it does not run, or another instance runs than at the start of the
//     wait.
//   - receipt, pending: the receipt or the pending question Arg has ended.
//   - time: the time Arg has come.
//   - command: the shell command Arg exits 0.
//
// The first four conditions are about the agent, not about its instance: they continue across a
// restart. An unknown state fulfills no condition. A condition that can never hold, for example
// because its target was removed, fails.
//
// # Cost
//
// A condition is checked when something has changed: [Service.SessionChanged] reports a session,
// the event log reports receipts and questions, and a timer reports times. Only commands are
// polled: after 1 s, and then at intervals that double up to 30 s, with at most 8 at once. One
// goroutine serves the city and another follows the event log.
//
// # Owners
//
// A durable wait belongs to the instance that registered it. It also belongs to a later instance
// that resumes the same conversation; no other later instance is notified. If the owner did not run
// when the wait was registered, the next instance is notified. The prompt's key is the ID of the
// wait, so the owner is notified at most once.
package waits
