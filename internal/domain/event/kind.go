package event

// Kind is the stable name of an event's kind, in the form "noun.verb".
type Kind string

// The kinds. kind_test.go has the meaning and the data keys of each.
const (
	ControllerStarted      Kind = "controller.started"
	ControllerStopping     Kind = "controller.stopping"
	ControllerStopped      Kind = "controller.stopped"
	ControllerReloaded     Kind = "controller.reloaded"
	ControllerReloadFailed Kind = "controller.reload_failed"
	ControllerDegraded     Kind = "controller.degraded"
	ControllerRecovered    Kind = "controller.recovered"
	ServerLost             Kind = "server.lost"

	SessionStarting    Kind = "session.starting"
	SessionStarted     Kind = "session.started"
	SessionStartFailed Kind = "session.start_failed"
	SessionAdopted     Kind = "session.adopted"
	SessionExited      Kind = "session.exited"
	SessionLost        Kind = "session.lost"
	SessionStopping    Kind = "session.stopping"
	SessionStopped     Kind = "session.stopped"
	SessionStopFailed  Kind = "session.stop_failed"
	SessionQuarantined Kind = "session.quarantined"
	SessionDrift       Kind = "session.drift"
	SessionRelaunched  Kind = "session.relaunched"
	SessionLiveApplied Kind = "session.live_applied"
	SessionInterrupted Kind = "session.interrupted"
	SessionStalled     Kind = "session.stalled"
	SessionStallEnded  Kind = "session.stall_ended"
	SessionAttached    Kind = "session.attached"
	SessionDetached    Kind = "session.detached"
	SessionStatus      Kind = "session.status"

	SessionActivity Kind = "session.activity"
	SessionHeld     Kind = "session.held"
	SessionReleased Kind = "session.released"
	SessionReset    Kind = "session.reset"
	SessionDraining Kind = "session.draining"
	SessionDrained  Kind = "session.drained"
	SessionLimited  Kind = "session.limited"
	// SessionObstacle reports that an obstacle keeps an agent from making progress, and
	// SessionObstacleOver reports that the obstacle is gone.
	SessionObstacle     Kind = "session.obstacle"
	SessionObstacleOver Kind = "session.obstacle_over"
	// SessionResumeFailed reports that an agent could not resume its conversation.
	SessionResumeFailed Kind = "session.resume_failed"

	PoolCheckFailed Kind = "pool.check_failed"

	// EventsDropped reports that events of a session were left out, see [Rate].
	EventsDropped Kind = "events.dropped"

	HostResumed Kind = "host.resumed"
	ClockJumped Kind = "clock.jumped"

	StoreDegraded  Kind = "store.degraded"
	StoreRecovered Kind = "store.recovered"
	StoreRebuilt   Kind = "store.rebuilt"

	PendingRaised       Kind = "pending.raised"
	PendingAnswered     Kind = "pending.answered"
	PendingResolved     Kind = "pending.resolved"
	PendingExpired      Kind = "pending.expired"
	PendingGone         Kind = "pending.gone"
	PendingEscalated    Kind = "pending.escalated"
	PendingNotifyFailed Kind = "pending.notify_failed"

	// NotifyFailed reports that a notification was not sent and is not tried again.
	NotifyFailed Kind = "notify.failed"
	// NotifyAnswer reports that an answer button of a notification was pressed, before the answer is sent to the agent.
	NotifyAnswer Kind = "notify.answer"
	// NotifyAnswerRefused reports that a press of an answer button was refused.
	NotifyAnswerRefused Kind = "notify.answer_refused"

	WaitAdded Kind = "wait.added"
	WaitEnded Kind = "wait.ended"

	PromptAccepted    Kind = "prompt.accepted"
	PromptEdited      Kind = "prompt.edited"
	PromptMoved       Kind = "prompt.moved"
	PromptSubmitted   Kind = "prompt.submitted"
	PromptConsumed    Kind = "prompt.consumed"
	PromptExpired     Kind = "prompt.expired"
	PromptDead        Kind = "prompt.dead"
	PromptCancelled   Kind = "prompt.cancelled"
	PromptUnconfirmed Kind = "prompt.unconfirmed"

	InputBlocked   Kind = "input.blocked"
	InputUnblocked Kind = "input.unblocked"
)
