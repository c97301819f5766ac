// Package remote carries a [runtime.Provider] over one connection: a driver of a far
// machine runs gc there, which serves its own local driver on standard input and output,
// and everything that is known about terminals, receipts and process trees is used where
// the agents are.
//
// [Serve] is the far end. [Provider] is the near one: it has each extension of the
// contract and answers with the far driver's errors, sentinels included. Each call is a
// stream of its own in the connection, so that a slow one holds up no other, and costs
// one round trip.
//
// What the caller names on its own machine (overlays, files to copy, scripts) is carried
// over before the call. Agents over there reach this city's worker API at a socket of the
// outpost, whose connections come back through the same connection.
//
// A connection that is lost says nothing about sessions: they live on without it, calls
// answer [runtime.ErrRuntimeUnavailable] until it is there again, watchers get a
// resync.
package remote
