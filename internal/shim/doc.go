// Package shim implements the small process that owns the terminal or pipes of one local session, and the client of that
// process.
//
// A driver starts a shim in a session of its own, with closed standard streams. The shim continues when the driver or the
// controller exits, and so does its agent. This package has both sides of the protocol: [Run] is the process, [Fleet] is the
// folder of all shims, and [Client] is a connection to one shim.
//
// # Folder
//
// A session has one folder, 0700, below the fleet's:
//
//	lock             held by flock while the shim runs; the kernel releases it at every kind of exit
//	sock             Unix socket, 0600, the peer's uid is checked
//	instance         the instance token, 0600; every request must carry it
//	session.json     a [Record]: name, process identities, what it was started with
//	last.json        a [ExitRecord]: the exit and last output, once the agent has ended
//	input.lock       held by flock while a prompt is being delivered
//	deliveries.json  the names of the last deliveries that have begun, with their outcomes, 0600
//	prompts/         prompts too long for a command line, until the agent has read them
//	shim.log         messages of the shim; nearly always empty
//
// The starter acquires the lock and passes it to the shim as an open file, so the folder is locked at every moment. If the lock
// is free and there is a session.json but no last.json, the shim was killed: the session is lost, and its agent may still run.
//
// A missing folder does not prove that the session has ended: it may have been removed by mistake. A shim creates its folder
// again at regular times and on SIGUSR1. Observe and Claim find such a shim by its last argument, which is the folder.
//
// # Process tree
//
// On Linux the shim is a child subreaper: every process that the agent starts becomes a child of the shim when its parent
// exits. When wait4 returns ECHILD, the whole tree has exited. On other systems the tree is found by parent process and by the
// instance token in the environment.
//
// # Protocol
//
// The protocol is HTTP on the socket with JSON bodies. Every request has "Authorization: Bearer <instance token>". A wrong
// token is answered with 409, which the client returns as [ErrStale]. GET /events is a stream of server-sent [Event]s; the
// stream ends when the shim exits. POST /attach switches the connection to frames of [AttachMessage]. POST /terminal switches
// it to a stream of frames that have the session's own size: the client requests each frame, and sends what a person types with
// POST /type. See docs/adr/0042. POST /hold delays what people type while its connection is open, at most for [HoldLimit].
//
// POST /deliver types a prompt into the terminal, see [DeliverRequest], and answers with its outcome. A delivery that has begun
// does not end with its connection; DELETE /deliver cancels it. POST /resolve returns the outcome of a delivery by its name.
// POST /interrupt-turn and POST /clear-input send the keys that interrupt a turn and that empty the input box. See
// docs/adr/0038.
//
// A client of the previous release types prompts itself. POST /lease grants the right to deliver prompts to one client at a time, while its connection is open. Every request of a
// delivery has the number of its lease and is refused after the lease has ended. POST /begin records the text before its first
// byte is sent. POST /input?kind=enter sends the key that submits the text. POST /settle records the outcome. GET /journal
// returns the recorded deliveries, so the next client knows what an interrupted delivery did, and that no more of its input can
// arrive. If other input arrives during a delivery, such as a key that a person typed, the shim first sends the keys that
// delete the prompt's text from the input box. Records are written in the same order as the input. A piece of a delivery is
// refused if other input was sent before it, so a slow delivery never deletes what a person typed.
package shim
