// Package process manages the program that a shim runs: its process tree, its terminal or pipes, and its output if it has no
// terminal.
package process
