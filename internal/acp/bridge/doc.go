// Package bridge implements the program between a session's shim and an agent that uses the Agent Client Protocol, and the
// protocol between that program and a driver (ADR 0019).
//
// The host runs the agent as its child and is its client in the protocol. It prints the conversation as plain text on its
// standard output and answers requests on a socket in the session's folder. It exits when the agent exits, with the same exit
// code or by the same signal. It stores nothing on disk.
//
// Only one prompt at a time is sent to the agent. Further prompts wait in a queue.
package bridge
