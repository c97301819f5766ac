// Package bridge is the program between a session's shim and an agent that speaks the
// Agent Client Protocol, and the wire by which a driver reaches it (ADR 0019).
//
// The host runs the agent as its child, holds the conversation with it, prints it as
// plain text on its standard output and answers on a socket in the session's folder.
// It lives as long as the agent and ends as the agent ended: with its exit code, or by
// its signal. What it knows dies with it.
//
// One prompt at a time is with the agent. The others wait in the order in which they
// were announced.
package bridge
