// Package ops is what the controller does at one session of a provider, outside
// its loop: to look, to note, to start within a deadline that moves, to end one
// instance and count what is left of it. Every call may block.
package ops
