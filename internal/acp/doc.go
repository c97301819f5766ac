// Package acp is the Agent Client Protocol, version 1 and the draft of version 2, as a client of
// agents speaks it: JSON-RPC 2.0, one message a line, over the agent's standard input and output.
// It knows the wire and nothing of processes, sessions of ours or policy.
//
// It is strict in what it sends and tolerant in what it reads: ids may be numbers or
// strings, the "jsonrpc" member may be missing, unknown members, methods and kinds of
// updates are no errors, a batch is read as its members, a line that is no message is
// handed over as text, and so is the news of one that is too long.
package acp
