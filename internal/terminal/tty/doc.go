// Package tty reports the state of a terminal that another process owns. It gets it from the kernel and from the program's
// output. It starts no process and has no global state.
package tty
