// Package memory is what a shim remembers of the program that it runs: the signs that the
// program gave of itself ([Heard]), and what was done to its input line by deliveries of
// prompts ([Deliveries]). Nothing here acts; the shim tells it before it acts itself.
package memory
