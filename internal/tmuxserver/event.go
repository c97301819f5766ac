package tmuxserver

// EventKind says what an Event reports.
type EventKind uint8

// The kinds of events. Fields that a kind does not name are empty.
const (
	// Resync: events may have been lost; the receiver must query the state of everything again. It is sent after each
	// reconnection and when too many events wait in a subscription.
	Resync EventKind = iota + 1
	// ServerLost: the server has exited. Text is the reason. No event follows until Start or Attach. Then the first
	// event is a Resync.
	ServerLost
	// Output: a pane printed something. Pane, Data (for OutputData only), Gap.
	Output
	// WindowAdd, WindowClose, WindowRenamed: a window was created, closed or renamed. Window, Unlinked, and for
	// WindowRenamed the new name in Text.
	WindowAdd
	WindowClose
	WindowRenamed
	// WindowPane: another pane of a window became active. Window, Pane.
	WindowPane
	// Layout: the layout of a window changed, for example its size. Window, Text is the rest of the line.
	Layout
	// PaneMode: a pane entered or left a mode, such as copy mode. Pane.
	PaneMode
	// SessionsChanged: a session was created or ended.
	SessionsChanged
	// SessionChanged: this client is now attached to another session. Session, Text is its name.
	SessionChanged
	// SessionRenamed: a session was renamed. Session, Text is the new name.
	SessionRenamed
	// SessionWindow: another window of a session became current. Session, Window.
	SessionWindow
	// ClientSession: a client changed its session. Client, Session, Text is its name.
	ClientSession
	// ClientDetached: a client has detached. Client.
	ClientDetached
	// BufferChanged, BufferDeleted: a paste buffer was changed or deleted. Text is its name.
	BufferChanged
	BufferDeleted
	// Monitored: the value of a monitor changed. Monitor, Text is the value. Session, Window and Pane are set if the
	// monitor has them.
	Monitored
	// ConfigError: an error in the configuration file. Text.
	ConfigError
	// Message: a message for this client, for example from display-message. Text.
	Message
	// Signal: tmux ran a command of [Client.Signal]. Text.
	Signal
	// Unknown: a notification that this package does not know. Text is the whole line.
	Unknown
)

// Event is one notification. Ids have the form of tmux: "$1" is a session, "@1" a window, "%1" a pane. A server does not
// reuse ids.
type Event struct {
	Kind EventKind
	// Session, Window, Pane are ids.
	Session, Window, Pane string
	// Client is the name of a client.
	Client string
	// Monitor is the name of the monitor.
	Monitor string
	// Text is the name, value, message or reason.
	Text string
	// Data is the output of the pane, in order. It may join several notifications. The receiver owns it.
	Data []byte
	// Gap: some bytes of this pane before or within Data are missing.
	Gap bool
	// Unlinked: the window is not linked into the hub.
	Unlinked bool
}
