// Package ops contains the controller's operations on one session of a provider: observe, read and
// write metadata, start with a deadline that moves, stop one instance and count its remaining
// processes. They run outside the controller's loop, and every call may block.
package ops
