// Package channel is the program that gc runs in a session in place of an agent CLI
// that can be a server (ADR 0028). It starts the server and, in the foreground of the
// terminal, the agent CLI's own terminal client, and relays between the two. Prompts come
// from the city's stream and go to the server directly, so that nothing is typed and no
// text is changed.
//
// The program lives as long as the terminal client and exits as that exits. If the server
// exits first, the program stops the client and fails, so that the city restarts the agent
// with its conversation.
//
// Hooks, guard and usage are those of the agent CLI: the server runs the hooks with the
// agent's environment.
package channel
