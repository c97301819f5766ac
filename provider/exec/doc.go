// Package exec is the driver for session scripts: a user's program that gc calls once for each
// operation. docs/reference/providers/exec.md describes for authors what a script must do. Package
// internal/driver/script is the wire format.
//
// # Unknown results
//
// A script may print anything, answer late, or not answer. Only the exact words of the wire format
// count. A session is dead only if the script reports that. An invalid answer, or none, means
// unknown. Exit code 2 means that the script does not have the operation. It is a typed error
// wherever something could be lost.
//
// # Processes
//
// Each call is one process in its own process group, with a time limit and a limit for its output.
// gc kills the group at the limit. gc writes the input without waiting for output. The number of
// concurrent calls is limited, and observations of many sessions share one listing.
package exec
