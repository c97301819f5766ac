package session

// Trigger is an event that changes a session's [State]: an action of the controller, its outcome,
// or the result of a fresh observation.
type Trigger string

// The triggers. Their meaning is in the table below and in
// docs/reference/states.md.
const (
	TriggerBegin      Trigger = "start begun"
	TriggerRelaunch   Trigger = "relaunch begun"
	TriggerCreated    Trigger = "created"
	TriggerReady      Trigger = "ready"
	TriggerFail       Trigger = "start failed"
	TriggerSeen       Trigger = "seen running"
	TriggerExited     Trigger = "exited"
	TriggerFinished   Trigger = "finished"
	TriggerVanished   Trigger = "vanished"
	TriggerDrain      Trigger = "drain begun"
	TriggerUndrain    Trigger = "drain cancelled"
	TriggerStop       Trigger = "stop begun"
	TriggerStopped    Trigger = "stopped"
	TriggerStopFail   Trigger = "stop failed"
	TriggerSlept      Trigger = "slept"
	TriggerWoken      Trigger = "woken"
	TriggerSuspended  Trigger = "suspended"
	TriggerResumed    Trigger = "resumed"
	TriggerQuarantine Trigger = "quarantined"
	TriggerRelease    Trigger = "released"
)

// Triggers returns every trigger.
func Triggers() []Trigger {
	out := make([]Trigger, 0, len(transitions))
	for i := range transitions {
		out = append(out, transitions[i].trigger)
	}
	return out
}

// transition is one row of the state machine. In a state that is in neither moves nor stays, the
// trigger is not expected.
type transition struct {
	trigger Trigger
	meaning string
	moves   []move
	stays   []State // the trigger is accepted and changes nothing
	// seen is the state after an unexpected trigger, except in a held state. It is empty for a
	// trigger that is only an intention.
	seen State
}

// move is a transition from several states to one.
type move struct {
	to   State
	from []State
}

// transitions is the state machine. Two rules apply. Every state accepts a stop; asleep, suspended
// and quarantined stay as they are, because nothing runs in them. A suspended or quarantined
// session changes its state only when it is released.
var transitions = []transition{
	{
		trigger: TriggerBegin, meaning: "the controller begins a start; saved before any side effect",
		moves: []move{{StateCreating, []State{StateStopped, StateAsleep, StateFailed, StateLost}}},
	},
	{
		trigger: TriggerRelaunch, meaning: "the controller starts the agent again in its existing terminal",
		moves: []move{{StateStarting, []State{StateRunning, StateFailed}}},
	},
	{
		trigger: TriggerCreated, meaning: "the session exists, its agent is being started",
		moves: []move{{StateStarting, []State{StateUnknown, StateCreating}}},
		stays: []State{StateStarting, StateRunning, StateDraining, StateStopping}, seen: StateStarting,
	},
	{
		trigger: TriggerReady, meaning: "the start is complete",
		moves: []move{{StateRunning, []State{StateUnknown, StateCreating, StateStarting}}},
		stays: []State{StateRunning, StateDraining, StateStopping}, seen: StateRunning,
	},
	{
		trigger: TriggerFail, meaning: "the start failed; nothing of it runs",
		moves: []move{{StateFailed, []State{StateUnknown, StateCreating, StateStarting}}},
		stays: []State{StateStopping, StateFailed},
	},
	{
		trigger: TriggerSeen, meaning: "an observation found it running, and no start is in progress",
		moves: []move{{StateRunning, []State{
			StateUnknown, StateCreating, StateStarting, StateStopped, StateAsleep, StateFailed, StateLost,
		}}},
		stays: []State{StateRunning, StateDraining, StateStopping}, seen: StateRunning,
	},
	{
		trigger: TriggerExited, meaning: "an observation found that its agent exited without a request",
		moves: []move{
			{StateFailed, []State{StateUnknown, StateCreating, StateStarting, StateRunning, StateLost}},
			{StateStopped, []State{StateDraining}},
		},
		stays: []State{StateStopping, StateStopped, StateAsleep, StateSuspended, StateQuarantined, StateFailed},
	},
	{
		trigger: TriggerFinished, meaning: "a one-shot agent exited with status 0",
		moves: []move{{StateStopped, []State{
			StateUnknown, StateCreating, StateStarting, StateRunning, StateDraining, StateFailed, StateLost,
		}}},
		stays: []State{StateStopping, StateStopped, StateAsleep, StateSuspended, StateQuarantined},
	},
	{
		trigger: TriggerVanished, meaning: "an observation found neither the session nor its agent",
		moves: []move{
			{StateLost, []State{StateStarting, StateRunning, StateDraining}},
			{StateFailed, []State{StateCreating}},
			{StateStopped, []State{StateUnknown, StateStopping}},
		},
		stays: []State{StateStopped, StateAsleep, StateSuspended, StateQuarantined, StateFailed, StateLost},
	},
	{
		trigger: TriggerDrain, meaning: "the agent is asked to finish its work",
		moves: []move{{StateDraining, []State{StateRunning}}},
		stays: []State{StateDraining},
	},
	{
		trigger: TriggerUndrain, meaning: "the request to finish its work was cancelled",
		moves: []move{{StateRunning, []State{StateDraining}}},
		stays: []State{StateRunning},
	},
	{
		trigger: TriggerStop, meaning: "the controller begins to stop it, whatever is left of it",
		moves: []move{{StateStopping, []State{
			StateUnknown, StateCreating, StateStarting, StateRunning, StateDraining, StateStopped, StateFailed, StateLost,
		}}},
		stays: []State{StateStopping, StateAsleep, StateSuspended, StateQuarantined},
	},
	{
		trigger: TriggerStopped, meaning: "the stop is complete: nothing of it runs",
		moves: []move{{StateStopped, []State{StateUnknown, StateStopping, StateFailed, StateLost}}},
		stays: []State{StateStopped, StateAsleep, StateSuspended, StateQuarantined}, seen: StateStopped,
	},
	{
		trigger: TriggerStopFail, meaning: "the stop failed; something may still run, and the stop is still requested",
		stays: []State{StateStopping, StateAsleep, StateSuspended, StateQuarantined},
	},
	{
		trigger: TriggerSlept, meaning: "it does not run, and a hold keeps it asleep until there is work for it",
		moves: []move{{StateAsleep, []State{StateStopped, StateFailed, StateLost}}},
		stays: []State{StateAsleep},
	},
	{
		trigger: TriggerWoken, meaning: "there is work for it",
		moves: []move{{StateStopped, []State{StateAsleep}}},
		stays: []State{
			StateUnknown, StateCreating, StateStarting, StateRunning, StateDraining, StateStopping,
			StateStopped, StateFailed, StateLost,
		},
	},
	{
		trigger: TriggerSuspended, meaning: "it does not run, and a person or the configuration keeps it suspended",
		moves: []move{{StateSuspended, []State{StateStopped, StateAsleep, StateQuarantined, StateFailed, StateLost}}},
		stays: []State{StateSuspended},
	},
	{
		trigger: TriggerResumed, meaning: "the suspension is over",
		moves: []move{{StateStopped, []State{StateSuspended}}},
		stays: []State{
			StateUnknown, StateCreating, StateStarting, StateRunning, StateDraining, StateStopping,
			StateStopped, StateAsleep, StateFailed, StateLost,
		},
	},
	{
		trigger: TriggerQuarantine, meaning: "it failed too often within the window",
		moves: []move{{StateQuarantined, []State{StateUnknown, StateStopped, StateFailed, StateLost}}},
		stays: []State{StateQuarantined},
	},
	{
		trigger: TriggerRelease, meaning: "its failures were reset, or its quarantine has ended",
		moves: []move{{StateStopped, []State{StateQuarantined, StateFailed, StateLost}}},
		stays: []State{
			StateUnknown, StateCreating, StateStarting, StateRunning, StateDraining, StateStopping,
			StateStopped, StateAsleep, StateSuspended,
		},
	},
}
