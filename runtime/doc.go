// Package runtime is the contract between a supervisor and the backends in which AI
// coding agents run: an embedded terminal, a child process, tmux, a user's
// script, ACP, ssh, Kubernetes.
//
// # Terms
//
//   - name: the name of a session, see [ValidateName]. One name is one session
//     in one driver at one time. Names are matched exactly, never by prefix.
//   - session: what a driver creates to run an agent; it has a name.
//   - instance: one run of a session, from one Start to its end. It has a
//     random instance token (GC_INSTANCE_TOKEN in the agent's environment).
//   - agent: the process that cfg.Command started, and its child processes.
//   - driver: an implementation of [Provider].
//   - running: the session exists and its agent has not been seen to exit. A
//     session whose agent has exited is dead: not running, still readable by
//     Peek and Observe, replaced by the next Start, removed by Stop.
//
// # Seven interfaces
//
// [Provider] has the nineteen methods that existing callers use. They are in
// seven small interfaces:
//
//	Runner     Start, Stop, Interrupt          start and stop sessions
//	Inspector  IsRunning, IsAttached, ...      queries without side effects
//	Input      Attach, Nudge, SendKeys         a person's terminal, prompts and keys
//	Output     Peek, ClearScrollback           what the agent printed
//	MetaStore  SetMeta, GetMeta, RemoveMeta    metadata of the instance
//	Stager     CopyTo, RunLive                 files and settings of a running session
//	Describer  Capabilities                    which results are reliable
//
// Abilities that only some drivers have are extensions: [Observe], [Watch], [Deliver],
// [Recover], [StopInstance], [Pending], [WaitForIdle], [Exec], [Relaunch], [OpenTerminal] and
// others. Each has one file with its interface, its helper and the helper's
// fallback. Callers use the helpers only. "No such method" and an error
// matching [errors.ErrUnsupported] are the same answer. Routers and wrappers
// implement [Router] and nothing else; [As] follows it.
//
// # The start sequence
//
// A driver that runs agents on this machine starts a session in this order, and
// aborts at the first failure of a numbered step unless it says otherwise:
//
//  1. validate the name and claim it ([ErrSessionExists] if it is taken)
//  2. run PreStart, in the working directory if it exists by then
//  3. stage PackOverlayDirs, OverlayDir and CopyFiles into the working directory;
//     an overlay never overwrites an existing file
//  4. create the session with Command, Env and WorkDir applied
//  5. for [LifecycleOneShot], or without any hint: done
//  6. handle known dialogs, wait for readiness, handle dialogs again; the end of
//     the wait without the prompt in sight is no failure if the agent lives
//  7. the agent must still live ([ErrSessionDiedDuringStartup])
//  8. run SessionSetup, then SessionSetupScript (failures are warnings)
//  9. deliver Nudge as the first prompt
//  10. run SessionLive (failures are warnings)
//
// The agent finds GC_SESSION_NAME (the session's name),
// GC_INSTANCE_TOKEN and GC_DIR in its environment; SessionSetup and SessionLive
// commands find the name in GC_SESSION too (an agent does not: there the variable
// selects a provider).
//
// The example of [Provider] shows one session from its start to its end. Package
// runtimetest tests each sentence of the contract.
//
// # Errors
//
// Branch on the sentinels ([ErrSessionNotFound], [ErrSessionExists], ...) with
// [errors.Is]; read operation and session from [Error]. What the agent did is
// never the driver's error: an agent that exits is an [Exit] or a
// [StartupDeath].
//
// # Concurrency and restarts
//
// All methods may be called concurrently. A driver whose sessions outlive their
// starter finds them again by itself when a new value is opened over the same
// state; [Recover] checks that it is still the same instance.
package runtime
