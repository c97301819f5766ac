// Package proc reads information about processes and sends signals to them. It identifies a process by its [ID], never by its
// name or process ID alone.
//
// # Agents
//
// [AgentScanner] finds the processes of agents in the process table by their environment, independent of what a driver has
// recorded.
//
// # Programs
//
// [FirstProgram] returns which program a shell command runs, without running it. [FindProgram] and [ProgramFinder] find out where
// that program is.
//
// # Identity
//
// An [ID] is the process ID (pid) and the kernel's start time of the process. Both stay the same when the program changes its
// name or arguments or calls exec. A reused pid has a different start time. An ID is valid until the machine boots again; if
// you store IDs on disk, store [BootID] with them.
//
// # Unknown is not gone
//
// [ErrGone] means that a process certainly does not exist. After any other error its state is unknown, and a caller must not
// destroy anything.
//
// # Platforms
//
// On Linux the package reads /proc and uses pidfds; it starts no processes to read others. Where pidfds are not available, it
// checks the start time immediately before a signal. On Darwin it uses sysctl and kqueue. All functions are safe for
// concurrent use.
package proc
