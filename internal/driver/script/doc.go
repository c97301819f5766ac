// Package script implements the protocol between gc and a session script: a program that gc runs once for each operation,
// "<script> <operation> <session> [args...]". The package has both ends: what a caller needs to call a script and read its
// answers, and [Serve], which acts as such a script for any [runtime.Provider].
//
// Version 0 has the operations that existing scripts implement. Further operations are used only if the script declares them in
// its handshake, so scripts of any age work. The reference for authors is docs/reference/providers/exec.md.
package script
