package control

// Kind says what an Event reports.
type Kind uint8

// The kinds of events. Fields that a kind does not name are empty.
const (
	// Resync: events may have been missed; look at everything again. Sent after each
	// reconnection and when a subscription was not read for too long.
	Resync Kind = iota + 1
	// ServerLost: the server ended. Text is why. Nothing follows until Start or Attach, after
	// which a Resync comes first.
	ServerLost
	// Output: a pane printed. Pane, Data (as far as wanted), Gap.
	Output
	// WindowAdd, WindowClose, WindowRenamed: Window, and the new name in Text. A window that is
	// not linked to the hub has Unlinked set.
	WindowAdd
	WindowClose
	WindowRenamed
	// WindowPane: another pane of a window became active. Window, Pane.
	WindowPane
	// Layout: the layout of a window changed, for example its size. Window, Text is the rest of the line.
	Layout
	// PaneMode: a pane entered or left a mode, such as copy mode. Pane.
	PaneMode
	// SessionsChanged: a session was made or ended.
	SessionsChanged
	// SessionChanged: our client is now attached to another session. Session, Text is its name.
	SessionChanged
	// SessionRenamed: Session, Text is the new name.
	SessionRenamed
	// SessionWindow: another window of a session became current. Session, Window.
	SessionWindow
	// ClientSession: a client changed its session. Client, Session, Text is its name.
	ClientSession
	// ClientDetached: Client.
	ClientDetached
	// BufferChanged, BufferDeleted: a paste buffer. Text is its name.
	BufferChanged
	BufferDeleted
	// Monitored: the value of a monitor changed. Monitor, Session, Window, Pane (as far as it has
	// them), Text is the value.
	Monitored
	// ConfigError: an error in the configuration file. Text.
	ConfigError
	// Message: a message for our client, such as of display-message. Text.
	Message
	// Signal: tmux carried out a command of [Client.Signal]. Text.
	Signal
	// Unknown: a notification that this package does not know. Text is the whole line.
	Unknown
)

// Event is one thing that happened. Ids are as tmux writes them: "$1" a session, "@1"
// a window, "%1" a pane; they are never used again within one server.
type Event struct {
	Kind Kind
	// Session, Window, Pane are ids.
	Session, Window, Pane string
	// Client is the name of a client.
	Client string
	// Monitor is the name of the monitor.
	Monitor string
	// Text is the name, value, message or reason.
	Text string
	// Data is what the pane printed, in order, several notifications joined. The receiver owns it.
	Data []byte
	// Gap says that bytes of this pane before or within Data were left out.
	Gap bool
	// Unlinked says that the window is not linked to the hub.
	Unlinked bool
}
