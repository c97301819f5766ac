// Package shim is the small process that owns one local session's terminal or
// pipes, and the client side of it.
//
// A shim is started by a driver, detached from it (own session, standard streams
// closed), and outlives it: whatever happens to a controller, its agents go on.
// Both ends of its protocol live here: [Run] is the process, [Fleet] the folder of
// all shims, [Client] a connection to one of them.
//
// # Folder
//
// A session has one folder, 0700, below the fleet's:
//
//	lock          held by flock for as long as the shim lives, whatever it dies of
//	sock          Unix socket, 0600, the peer's uid is checked
//	instance      the instance token, 0600; every request must carry it
//	session.json  a [Record]: name, process identities, what it was started with
//	last.json     a [ExitRecord]: the exit and last output, once the agent has ended
//	input.lock    held by flock while a prompt is being delivered
//	prompts/      prompts too long for a command line, until the agent has read them
//	shim.log      what the shim had to say; nearly always empty
//
// The lock is taken by the starter and handed to the shim as an open file, so
// there is no instant without an owner. A free lock beside a session.json without
// last.json means that the shim was killed: the session is lost, and its agent
// may still run.
//
// A missing folder proves nothing: somebody may have removed it. A shim makes its folder again by
// itself, and on SIGUSR1; every look and every start finds such a shim by its last argument, which is
// the folder.
//
// # Process tree
//
// On Linux the shim is a child subreaper: every process that the agent starts,
// however it detaches, is re-parented to the shim at the latest when its parent
// ends. wait4 answering ECHILD is therefore the proof that the whole tree is
// gone. Elsewhere the tree is followed by parent and by the instance token in the
// environment.
//
// # Protocol
//
// HTTP on the socket; JSON bodies; "Authorization: Bearer <instance token>" on
// every request. A wrong token is 409 and [ErrStale]. GET /events is a stream of
// server-sent [Event]s whose end means that the shim is gone; POST /attach
// switches the connection to frames of [AttachMessage]. POST /hold keeps back what
// people type, for as long as its connection stands and [HoldLimit] at most.
//
// POST /lease gives the right to deliver prompts, to one at a time and for as long as its
// connection stands. Whatever belongs to a delivery carries the number of its lease and
// is refused when that is over: POST /begin notes the text before the first byte, POST
// /input?kind=enter the key that submits it, POST /settle its outcome, and GET /journal
// returns the account. So the next delivery after one that was cut off knows what it did,
// and that nothing of it comes later. Input of others that comes in between, such as a
// person's key, is preceded by the keys that take the text out of the line again. What is
// noted and what is sent has one order, so that a piece which other input came before is
// refused: a deliverer that was starved for longer than its hold deletes no key of a
// person.
package shim
