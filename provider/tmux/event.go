package tmux

// eventKind says what a controlEvent reports.
type eventKind uint8

// The kinds of events. Fields that a kind does not name are empty.
const (
	// eventResync: events may have been lost; the receiver must query the state of everything again. It is sent after each
	// reconnection and when too many events wait in a subscription.
	eventResync eventKind = iota + 1
	// eventServerLost: the server has exited. Text is the reason. No event follows until Start or Attach. Then the first
	// event is an eventResync.
	eventServerLost
	// eventOutput: a pane printed something. Pane, Data, Gap.
	eventOutput
	// eventWindowAdd, eventWindowClose, eventWindowRenamed: a window was created, closed or renamed. Text.
	eventWindowAdd
	eventWindowClose
	eventWindowRenamed
	// eventWindowPane: another pane of a window became active. Text.
	eventWindowPane
	// eventLayout: the layout of a window changed, for example its size. Text.
	eventLayout
	// eventPaneMode: a pane entered or left a mode, such as copy mode. Text.
	eventPaneMode
	// eventSessionsChanged: a session was created or ended.
	eventSessionsChanged
	// eventSessionRenamed: a session was renamed. Text.
	eventSessionRenamed
	// eventClientSession: a client changed its session. Text.
	eventClientSession
	// eventClientDetached: a client has detached. Text.
	eventClientDetached

	// Kinds that only this package uses. Subscriptions do not get them.
	eventExited
	eventPaused
	eventContinued
	// eventOther: a notification that no receiver needs. Text is the whole line.
	eventOther
)

// controlEvent is one notification.
type controlEvent struct {
	Kind eventKind
	// Pane is the id of a pane, such as "%1". A server does not reuse ids.
	Pane string
	// Text is what follows the name in the line of tmux, or the reason of eventServerLost.
	Text string
	// Data is the output of the pane, in order. It may join several notifications. The receiver owns it.
	Data []byte
	// Gap: some bytes of this pane before or within Data are missing.
	Gap bool
}
