// Package remote implements a [runtime.Provider] for sessions on another machine, over one connection. A driver for remote
// machines runs gc there. The remote gc, called the outpost, serves its own local driver on standard input and output. So
// terminals, receipts and process trees are handled on the machine where the agents run.
//
// [Serve] is the remote end and [Provider] is the local end. The provider implements every extension of the contract and
// returns the errors of the remote driver, including sentinels. Each call is a stream of its own in the connection and needs
// one round trip, so a slow call does not delay other calls.
//
// Files that the caller names on its own machine (overlays, files to copy, scripts) are uploaded before the call. Remote agents
// reach the worker API of this city at a socket of the outpost; their connections are forwarded through the same connection.
//
// If the connection is lost, the sessions continue. Calls return [runtime.ErrRuntimeUnavailable] until there is a new
// connection, and watchers get a resync.
package remote
