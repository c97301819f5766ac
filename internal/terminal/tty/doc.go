// Package tty reports what can be known of a terminal that another process owns: from the
// kernel, and from the output that passes. It starts nothing and keeps no state of its own.
package tty
