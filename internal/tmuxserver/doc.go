// Package tmuxserver manages the tmux server of one city: its socket, its configuration, its clients and the state of the panes
// that gc has created. It talks to the server by the control mode of tmux. It knows neither agents nor records. Package
// provider/tmux decides what happens to a pane.
//
// # Server and client
//
// A [Server] is the server of a city, which may run or not. Its [Client] implements the protocol of the control mode and
// nothing else. The client runs one client process for each server, sends any number of commands at the same time, and receives
// the notifications of the server.
//
// A [Client] belongs to one socket path. [Client.Start] connects to the server or starts it. [Client.Attach] and the first
// [Client.Do] connect only to a running server. The server continues to run when the client exits: [Client.Close] stops the
// client process, never the server.
//
// The control client is attached to a session of its own, the hub. tmux sends to a control client only the output of windows of
// its session. To receive the output of a window, link it into the hub: see [Hub].
//
// # Lost connections and servers
//
// If the client process exits and the server still runs, the client connects again, and each
// subscription gets one [Resync]. Commands in flight fail with [ErrInterrupted]: whether the server ran them is unknown. If the
// server exits, each subscription gets one [ServerLost], and every call fails with [ErrServerLost] until somebody calls Start or
// Attach. The client compares pid and start time, so it detects another server at the same path.
//
// # Text that looks like the protocol
//
// Programs in panes can print text that looks like the protocol. Therefore the client does not recognize the end of a reply by
// its text alone. It sends a fence after each command: a command that prints a random token.
package tmuxserver
