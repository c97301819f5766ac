// Package exec is the driver for session scripts: a user's program that is called
// once for each operation. What a script must do is written for authors in
// docs/reference/providers/exec.md; the wire is package internal/driver/script.
//
// # What is not known is unknown
//
// A script answers what it likes, late, or not at all. Only the exact words of the
// wire are facts: a session is dead if the script says "false", and anything else is
// unknown. Exit code 2, an operation that the script does not have, is a typed
// error wherever something could be lost.
//
// # Processes
//
// Each call is one process in a group of its own, with a deadline at whose end the
// group is killed, bounded output, and its input written without ever waiting for
// its output. At most a few run at a time, and looks at many sessions share one
// listing.
package exec
