package controller

import (
	"gascity/internal/controller/explain"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// sessionSummary is the part of a session's snapshot whose changes are reported to other components.
type sessionSummary struct {
	desired, state, unknown, token string
	reachable, running, ready      bool
	epoch                          uint64
	hold                           session.HoldKind
	draining                       bool
	activity                       runtime.Activity
	kind                           string
	until                          int64
	attached                       int
	pending                        string
	conversation, movesTo          string
	obstacle                       string
	probe                          int64
}

// summaryOf returns the part of a snapshot that other components react to. Two equal summaries mean
// that they need no notification.
func summaryOf(v *session.Snapshot) sessionSummary {
	g := sessionSummary{
		desired: v.Desired, state: string(v.State), unknown: v.Unknown, token: v.Token, reachable: v.Provider != nil,
		running: v.Running, ready: v.Ready, epoch: v.Epoch, hold: v.Hold.Kind, draining: v.Draining,
		activity: v.Activity.State, kind: v.Activity.Kind, attached: v.Attached, pending: explain.Asked(v.Question()),
		conversation: v.Conversation.ID, movesTo: v.MovesTo,
	}
	if !v.Activity.Until.IsZero() {
		g.until = v.Activity.Until.UnixNano()
	}
	g.obstacle = v.Obstacle.Kind + v.Obstacle.Detail
	if !v.Obstacle.ProbeAt.IsZero() {
		g.probe = v.Obstacle.ProbeAt.UnixNano()
	}
	return g
}
