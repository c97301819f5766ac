// Package channel is the program that gc runs in a session instead of an agent CLI that can be a
// server (ADR 0028). It starts the agent CLI as a server and, in the foreground of the terminal, as
// a terminal client, and relays messages between the two. Prompts come from the city's stream and
// go directly to the server. So nothing is typed and no text is changed.
//
// The program runs as long as the terminal client and exits with the same status. If the server
// exits first, the program stops the client and fails, so that the city restarts the agent with its
// conversation.
//
// Hooks, guard and usage work as in the agent CLI: the server runs the hooks with the agent's
// environment.
package channel
