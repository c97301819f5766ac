// Package cli is the command line: each command parses its arguments, calls the
// control API through package client, and prints.
//
// # Rules for what is printed
//
// Data goes to standard output, talk to standard error. What can be listed has
// --json, whose document is the client's type; a stream is one JSON value a
// line. Colour and progress appear on a terminal only, and never with NO_COLOR.
// A message names the thing and the remedy, begins in lower case and ends
// without a full stop.
//
// # Exit status
//
//	0 done   1 failed   2 usage   3 not found   4 refused   5 timed out   6 no controller
//
// # What a command may know
//
// The client, the runtime contract, and what [Env] hands it. The few commands that
// need the machine itself (run a controller, attach a terminal, check a driver)
// get it as [Daemon]; the program's main package passes the real one. They live
// here, with what concerns the city as a whole; the others are in packages by
// subject: talk and agent.
package cli
