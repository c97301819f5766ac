// Package cli is the command line: each command parses its arguments, calls the
// control API through package client, and prints the result.
//
// # Output
//
// Data goes to standard output, messages for people to standard error. Commands that
// print data have --json, and the JSON is the client's type; a stream has one JSON
// value per line. Colors and progress are printed only on a terminal, and colors
// never with NO_COLOR. A message names what failed and how to fix it, begins in
// lower case and ends without a full stop.
//
// # Exit status
//
//	0 done   1 failed   2 usage   3 not found   4 refused   5 timed out   6 no controller
//	7 needs a person's approval (gc guard check)
//
// # What a command may use
//
// A command uses the client, the runtime contract and the fields of [Env]. The
// commands that need the machine itself (run a controller, attach a terminal, check a
// driver) call [Daemon]; the main package passes the implementation.
package cli
