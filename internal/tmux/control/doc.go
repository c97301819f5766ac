// Package control speaks the control mode of tmux: one lasting client process
// for each server, any number of commands in flight, and the notifications that
// the server sends. It knows the language only: no agents, no names of sessions
// other than its own hub, no policy.
//
// # Server and client
//
// A [Client] belongs to one socket path. It starts nothing by itself: [Client.Start]
// starts the server or takes up the one that listens, [Client.Attach] and a first
// [Client.Do] only take up one that listens. The server outlives the client;
// [Client.Close] ends our process, never the server.
//
// The control client is attached to a session of its own, the hub. tmux sends a
// control client output only in windows of the session it is attached to. To
// get the output of a window, link it into the hub: see [Client.Hub].
//
// # Losing things
//
// When our process dies and the server lives, the client connects again, repeats
// its monitors, and each subscription gets one [Resync]. Commands in flight fail
// with [ErrInterrupted]: whether they were carried out is unknown. When the server
// dies, each subscription gets one [ServerLost] and every call fails with
// [ErrServerLost] until somebody calls Start or Attach. Another server at the same
// path is never taken for the old one: pid and start time are compared.
//
// # Text of others
//
// What programs in panes print can look like the protocol. The end of a reply is
// therefore never taken from its text alone: commands that may print such text are
// followed by a fence that cannot be guessed.
package control
