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
	// Output: a pane printed something. Pane, Data, Gap.
	Output
	// WindowAdd, WindowClose, WindowRenamed: a window was created, closed or renamed. Text.
	WindowAdd
	WindowClose
	WindowRenamed
	// WindowPane: another pane of a window became active. Text.
	WindowPane
	// Layout: the layout of a window changed, for example its size. Text.
	Layout
	// PaneMode: a pane entered or left a mode, such as copy mode. Text.
	PaneMode
	// SessionsChanged: a session was created or ended.
	SessionsChanged
	// SessionRenamed: a session was renamed. Text.
	SessionRenamed
	// ClientSession: a client changed its session. Text.
	ClientSession
	// ClientDetached: a client has detached. Text.
	ClientDetached

	// Kinds that only this package uses. Subscriptions do not get them.
	exited
	paused
	continued
	// other: a notification that no receiver needs. Text is the whole line.
	other
)

// Event is one notification.
type Event struct {
	Kind EventKind
	// Pane is the id of a pane, such as "%1". A server does not reuse ids.
	Pane string
	// Text is what follows the name in the line of tmux, or the reason of ServerLost.
	Text string
	// Data is the output of the pane, in order. It may join several notifications. The receiver owns it.
	Data []byte
	// Gap: some bytes of this pane before or within Data are missing.
	Gap bool
}
