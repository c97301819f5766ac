// Package script is the wire between gc and a session script: a program that is
// called once for each operation, "<script> <operation> <session> [args...]". It has
// both ends: what a caller needs to call and to understand a script, and [Serve],
// which answers as such a script for any [runtime.Provider].
//
// The operations of version 0 are those that scripts in the wild implement. What is
// beyond them is used only after the script has declared it in its handshake, so a
// script of any age works. The reference for authors is
// docs/reference/providers/exec.md.
package script
