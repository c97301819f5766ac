// Package oscstate stores the reports of a program about itself, which it sends to its terminal as OSC sequences. It does
// no I/O.
package oscstate
