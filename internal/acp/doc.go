// Package acp implements the Agent Client Protocol, version 1 and the draft of version 2, for clients of agents. The protocol
// is JSON-RPC 2.0, one message per line, over the agent's standard input and output. The package does not start processes and
// has no policy.
//
// It is strict in what it sends and tolerant in what it reads. IDs may be numbers or strings, and the "jsonrpc" member may be
// missing. Unknown members, methods and kinds of updates are not errors. The messages of a batch are processed one by one. A
// line that is not a message, and the report of a line that is too long, is passed to [Handler.Stray].
package acp
