// Package process is what a shim holds of the program that it runs: the tree of its
// processes, its terminal or pipes, and what it printed without a terminal.
package process
