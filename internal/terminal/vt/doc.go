// Package vt is the screen model of a terminal: it turns the output of a
// program on a terminal into a screen, scrollback and notices, and turns keys and
// pasted text into the bytes that such a program expects.
//
//   - [Screen] gets raw output by Write and returns what a person would see. It
//     behaves as tmux 3.3a does (the differential tests compare the two cell by
//     cell, TestExceptions lists the exceptions); what tmux does not know follows xterm.
//   - [Key] and [Paste] encode input. They refuse what cannot arrive
//     unchanged before the first byte is sent.
//   - [Scanner] finds operating system commands (titles, progress, prompts) in a
//     stream without keeping a screen.
//   - [SignTracker] stores the reports of a program about itself, which it sends to its
//     terminal as OSC sequences.
//
// The package starts no goroutines, does no I/O and has no global state. A Screen or
// Scanner is used by one goroutine at a time; the caller locks.
//
// # Memory
//
// The visible screen costs 16 bytes per cell. Scrollback keeps UTF-8 text and
// style runs in slabs, about one byte per plain column. It is limited by lines and
// by bytes (640 per allowed line on average), oldest lines first. Hyperlinks are
// kept for the visible screen and dropped when a line moves to the scrollback.
package vt
