package prompts

import (
	"errors"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// observationOf converts the snapshot of a session to the input of [prompt.Decide]. err is the
// error from reading the snapshot; then the session counts as removed (client.ErrNotFound) or
// unknown.
func observationOf(v session.Snapshot, err error) prompt.Observation {
	switch {
	case errors.Is(err, client.ErrNotFound):
		return prompt.Observation{Known: true, RemovedReason: "the agent is not in the city any more"}
	case err != nil:
		return prompt.Observation{ClosedReason: err.Error()}
	case v.Unknown != "":
		return prompt.Observation{ClosedReason: "the session is not known: " + v.Unknown}
	case v.Desired == client.DesiredAbsent:
		return prompt.Observation{Known: true, RemovedReason: "the agent is not configured any more"}
	}
	s := prompt.Observation{
		Known: true, NotRunning: !v.Running && isStopped(v), Asleep: isAsleep(v) && isStopped(v), AsleepAt: v.Hold.Since, Conversation: v.Conversation.ID,
		Activity: v.Activity.State, IsCertain: v.Activity.Confidence == session.ConfidenceCertain || v.Activity.Confidence == session.ConfidenceLikely,
		Since: v.Activity.Since, ReadAt: v.ReadAt,
	}
	if v.Running {
		s.Instance = v.Instance
	}
	s.ClosedReason = blockedReason(v)
	if v.Obstacle.BlocksPrompts() {
		s.Obstacle, s.ProbeAt = client.AgentObstacle{Kind: v.Obstacle.Kind, Detail: v.Obstacle.Detail}.String(), v.Obstacle.ProbeAt
	}
	return s
}

// isStopped reports whether the session's lifecycle state means that no instance runs.
func isStopped(v session.Snapshot) bool {
	switch string(v.State) {
	case client.StateStopped, client.StateAsleep, client.StateSuspended, client.StateQuarantined,
		client.StateFailed, client.StateLost, client.StateCreating:
		return true
	}
	return false
}

// isAsleep reports whether the session is stopped until it is needed: it sleeps or is about to
// sleep, or its pool does not need it now. A prompt wakes such a session.
func isAsleep(v session.Snapshot) bool {
	return !v.Running && (string(v.State) == client.StateAsleep || v.Hold.Kind == session.HoldSleep || v.Surplus)
}

// blockedReason returns why no delivery may be attempted now; "" if one may. If the session's
// provider checks the agent itself before it sends the first byte, an unknown activity is no
// reason.
func blockedReason(v session.Snapshot) string {
	switch {
	case !v.Running:
		return fmt.Sprintf("the agent does not run (%s)", v.State)
	case v.Draining, string(v.State) == client.StateStopping: // an interrupt before the stop may have made it idle
		return "the agent is shutting down"
	case !v.Ready:
		return "the agent is starting"
	case v.Provider == nil:
		return "the session cannot be reached"
	case v.Pending != nil, v.Activity.State == runtime.ActivityWaiting:
		return "the agent waits for an answer"
	case !canSense(v) && !canDeliver(v):
		return "" // the driver can report nothing, so there is nothing to wait for
	case !canDeliver(v) && (v.Activity.State == runtime.ActivityUnknown || v.Activity.State == ""):
		return "the activity of the agent is unknown"
	}
	return ""
}

// canDeliver reports whether the session's provider itself delivers prompts and checks the agent
// before.
func canDeliver(v session.Snapshot) bool {
	_, ok := runtime.As[runtime.Deliverer](v.Provider, v.Session)
	return ok
}

// canSense reports whether the session's provider can report the agent's activity.
func canSense(v session.Snapshot) bool {
	_, ok := runtime.As[runtime.Sensor](v.Provider, v.Session)
	return ok
}

// retryTrigger is the part of a snapshot whose change allows another attempt at once.
type retryTrigger struct {
	instance, pending string
	activity          runtime.Activity
	attached          int
}

// retryTriggerOf returns the part of a snapshot whose change makes another delivery attempt
// worthwhile.
func retryTriggerOf(v session.Snapshot) retryTrigger {
	s := retryTrigger{instance: v.Instance, activity: v.Activity.State, attached: v.Attached}
	if v.Pending != nil {
		s.pending = v.Pending.RequestID
	}
	return s
}

// refusal returns the error with which a prompt for this agent is refused at once, for example
// because it is suspended; nil if the agent accepts prompts.
func refusal(v session.Snapshot, name string) error {
	why := ""
	switch {
	case v.Desired == client.DesiredAbsent:
		why = "it is not configured any more"
	case v.Hold.Kind == session.HoldBudget:
		return nil // the prompt waits until the budget allows it
	case v.Hold.Kind == session.HoldSuspend:
		why = "it is stopped; start it with: gc start " + name
	case v.Desired == client.DesiredSuspended, string(v.State) == client.StateSuspended:
		why = "it is suspended in city.toml; set suspended = false there"
	case v.Unknown != "":
		return nil
	case v.Draining, string(v.State) == client.StateDraining:
		why = "it is shutting down"
	case string(v.State) == client.StateQuarantined:
		why = "it is quarantined" + because(v.Reason) + "; see: gc explain " + name
	case string(v.State) == client.StateFailed:
		why = "it has failed" + because(v.Reason) + "; see: gc explain " + name
	case v.Desired == client.DesiredStopped && !v.Running && !isAsleep(v):
		why = "it is stopped" + because(v.Reason) + "; see: gc explain " + name
	default:
		return nil
	}
	return fmt.Errorf("%w: %s accepts no prompts: %s", client.ErrRefused, name, why)
}

// because returns " (reason)" to be appended to a message; "" if there is no reason.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
