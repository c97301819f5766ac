// Package oscstate is what a shim remembers of the program that it runs: the signs that the
// program gave of itself. Nothing here acts.
package oscstate
