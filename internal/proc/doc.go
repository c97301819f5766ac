// Package proc answers questions about processes and signals them, always by
// owned identity and never by name or by bare number.
//
// # Identity
//
// A process is known by an [ID]: its pid and the kernel's start time of it. Both
// survive a rename of the program, a change of arguments and an exec; a recycled pid
// has another start time. An ID is valid until the machine boots again; who keeps
// IDs on disk keeps [BootID] beside them.
//
// # Unknown is not gone
//
// [ErrGone] is positive knowledge that a process does not exist. Every other error
// means that nothing is known, and a caller that destroys things must then do nothing.
//
// # Platforms
//
// Linux reads /proc and uses pidfds; nothing is forked. Kernels and sandboxes without
// pidfds get a check of the start time directly before the signal. Darwin uses sysctl
// and kqueue. All functions may be called concurrently.
package proc
